"""A database as it is after years: a thousand conversations and a million entries, or as many as are asked for.

One rule: what it holds looks like what the product writes, so that indexes and sizes are as they would be.
"""

from typing import Any

import asyncpg

from storage.text import dumps

CONVERSATIONS = 1_000
COMMON, RARE, DENSE = "common", "zanzibar", "東京"
"""Words that are searched for: one in every seventh entry, one in every hundred-thousandth, and of a script without
spaces in every ten-thousandth."""

_AGENT = (
    "INSERT INTO agents (name, job, instructions, made_at, no) VALUES ('dreamwalker', 'The main one.', '', now(), 1)"
)
_CONVERSATIONS = """
INSERT INTO conversations (id, agent, kind, made_by, made_at, no)
SELECT n, 'dreamwalker', CASE n WHEN 1 THEN 'home' ELSE 'job' END,
    CASE n WHEN 1 THEN 'home:dreamwalker' ELSE 'slot:' || n END, now(), 1 FROM generate_series(1, $1::int) n
"""
_WORDS = """
CREATE TEMPORARY TABLE words AS SELECT n, (
    SELECT string_agg(substr('etaoinshrdlucmfwypvbgkjqxz', 1 + floor(26 * random() ^ 1.6)::int, 1), '')
    FROM generate_series(1, 3 + n % 9)) AS word FROM generate_series(0, 19999) n
"""
# Half of all is the home's. A text has about forty words, some of them often.
_ENTRIES = """
INSERT INTO entries (conversation, seq, run, turn, kind, source, shown, label, at, no)
SELECT CASE WHEN n % 2 = 0 OR $3 = 1 THEN 1 ELSE 2 + (n / 2) % ($3 - 1) END,
    CASE WHEN n % 2 = 0 THEN n / 2 + 1 ELSE (n / 2) / ($3 - 1) + 1 END,
    1000000000 + n, CASE WHEN n / 2 % 2 = 1 THEN 1 END,
    CASE WHEN n / 2 % 2 = 0 THEN 'message' ELSE 'reply' END, CASE WHEN n / 2 % 2 = 0 THEN 'owner' ELSE 'model' END,
    '[{"type":"text","text":"'
        || CASE WHEN n / 2 % 2 = 0 THEN '[2026-11-29 Sunday 13:00 Europe/Vienna]"},{"type":"text","text":"' ELSE '' END
        || t.text
        || CASE WHEN n % 7 = 0 THEN ' common' ELSE '' END
        || CASE WHEN n % 100000 = 77 THEN ' zanzibar' ELSE '' END
        || CASE WHEN n % 10000 = 88 THEN ' 私は東京に住んでいます' ELSE '' END || '"}]',
    0, now() - make_interval(secs => $2 - n), 2 + n
FROM generate_series($1::bigint, $4::bigint) n, LATERAL (
    SELECT string_agg(word, ' ') AS text FROM words WHERE words.n IN (
        SELECT floor(20000 * random() ^ 3)::int FROM generate_series(1, 40 + (0 * n)::int))) t
"""
_WORDS_ENTERED = """
INSERT INTO entry_words (conversation, seq, entry_no, words, no)
SELECT conversation, seq, no, COALESCE(dreamwalker_words(dreamwalker_said(shown)), ''), no FROM entries
WHERE kind IN ('message', 'reply')
"""
_RUNS = """
INSERT INTO runs (id, conversation, act, hops, state, turn, attempt, retries, asked, opened_at, closed_at, no)
SELECT run, conversation, 'message:' || run, 0, 'done', 1, 0, 0, 1, at, at, no FROM entries WHERE kind = 'reply'
"""
_MESSAGES = """
INSERT INTO messages (id, conversation, source_key, digest, kind, body, label, act, hops, interrupt, accepted_no,
                      seen_no, accepted_at, placed_seq, run, no)
SELECT 2000000000 + run, conversation, 'request:' || run, md5(shown), 'owner', shown, 0, 'message:' || run, 0, FALSE,
    no, no - 1, at, seq, run, no FROM entries WHERE kind = 'message'
"""
_SPEND = """
INSERT INTO spend (run, asked, kind, agent, act, model, day, month, reserved, cost, input_tokens, cache_write_tokens,
                   cache_read_tokens, output_tokens, searches, at, no)
SELECT id, 1, 'turn', 'dreamwalker', act, 'claude-haiku-5-5', opened_at::date::text, left(opened_at::date::text, 7),
    1000, 500, 10, 200, 3000, 80, 0, opened_at, no FROM runs
"""
# As the product would have it: the home is summed up but for its end.
_SUMMARY = """
INSERT INTO entries (conversation, seq, run, kind, source, shown, label, covers_to, at, no)
SELECT 1, max(seq) + 1, max(run), 'summary', 'model', $1, 0, max(seq) - 20, now(), max(no) + 1
FROM entries WHERE conversation = 1
"""
_NUMBER = "UPDATE dreamwalker_lease SET commit_no = (SELECT max(no) FROM entries)"
_BATCH = 50_000


async def fill(url: str, entries: int) -> None:
    """Fill a migrated database with so many entries."""
    raw: Any = await asyncpg.connect(url)
    conversations = min(CONVERSATIONS, max(entries // 10, 2))
    await raw.execute("SET synchronous_commit = off")
    await raw.execute(_AGENT)
    await raw.execute(_CONVERSATIONS, conversations)
    await raw.execute(_WORDS)
    for first in range(0, entries, _BATCH):
        last = min(first + _BATCH, entries) - 1
        await raw.execute(_ENTRIES, first, float(entries), conversations, last)
    for statement in (_WORDS_ENTERED, _RUNS, _MESSAGES, _SPEND):
        await raw.execute(statement)
    await raw.execute(_SUMMARY, dumps([{"type": "text", "text": "What was said before."}]))
    await raw.execute(_NUMBER)
    await raw.execute("VACUUM ANALYZE")
    await raw.close()
