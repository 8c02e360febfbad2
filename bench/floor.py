"""The floor: what the same run would cost with bare asyncpg. FROZEN: a change here makes earlier figures worthless.

One connection, four statements. Each is a commit of its own that renews a lease row and inserts the bytes that a run
with one `write_note` call stored at that point when this file was written, as text; no bookkeeping, no actors.

It is a process of its own, so that it has a plain asyncio loop to itself: `python -m bench.floor URL`. For each number
on a line of its input it does so many runs and answers with a line of JSON, the milliseconds of each.
"""

import asyncio
import json
import sys
import time
from typing import Any

import asyncpg

_SCHEMA = """
CREATE TABLE IF NOT EXISTS floor_lease (
    id BIGINT PRIMARY KEY, holder TEXT NOT NULL, commit_no BIGINT NOT NULL, expires_at TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 10);
CREATE TABLE IF NOT EXISTS floor_rows (no BIGINT PRIMARY KEY, bytes TEXT NOT NULL);
INSERT INTO floor_lease VALUES (1, '4c0f6f1d2b8e4a57', 0, now()) ON CONFLICT DO NOTHING;
"""

_COMMIT = """
WITH lease AS (
    UPDATE floor_lease SET commit_no = commit_no + 1, expires_at = clock_timestamp() + make_interval(secs => 60)
    WHERE id = 1 AND holder = $1 AND commit_no = $2 RETURNING commit_no)
INSERT INTO floor_rows (no, bytes) SELECT commit_no, $3 FROM lease RETURNING no
"""

_BYTES = (
    285,  # a message
    271 + 100 + 132 + 49,  # its entry, the run, a reservation, the day and the month
    341 + 384 + 32 + 170,  # a reply, its call with the result, a note and its version
    185 + 132,  # the last reply, and what was reserved for it
)


async def _run(connection: Any, number: int) -> int:
    for size in _BYTES:
        number = await connection.fetchval(_COMMIT, "4c0f6f1d2b8e4a57", number, "Anna: 4 May. " * (size // 13))
    return number


async def _main(url: str) -> None:
    connection: Any = await asyncpg.connect(url)
    await connection.execute(_SCHEMA)
    number = await connection.fetchval("SELECT commit_no FROM floor_lease")
    for line in sys.stdin:
        took = []
        for _ in range(int(line)):
            began = time.perf_counter()
            number = await _run(connection, number)
            took.append((time.perf_counter() - began) * 1000)
        print(json.dumps(took), flush=True)
    await connection.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
