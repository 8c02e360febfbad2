"""`python -m bench`: measures everything once and prints it. QUICK=1 in the environment takes fewer samples."""

import json
import os

import trio

from . import runs, server, stream, years
from .database import Postgres, postgres
from .figures import Figure, named, table


async def _measure(database: Postgres, *, quick: bool) -> list[Figure]:
    return [
        *await runs.against_the_floor(database, rounds=12 if quick else 60, batch=5),
        *await runs.at_once(database, rounds=4 if quick else 12),
        *await runs.on_the_wire(database, samples=5 if quick else 9),
        *await runs.in_the_log(database, samples=7 if quick else 15),
        *await server.cold_start(database, samples=5 if quick else 15, at_rest=1 if quick else 3),
        *await stream.sdk_stream(samples=10 if quick else 40),
        *await years.measure(database, entries=20_000, samples=2 if quick else 5),
    ]


def main() -> None:
    """Measure, print the table, and the JSON object as the last line."""
    with postgres() as database:
        figures = trio.run(lambda: _measure(database, quick=bool(os.environ.get("QUICK"))))
    print(table(figures))
    print(json.dumps(named(figures)))


if __name__ == "__main__":
    main()
