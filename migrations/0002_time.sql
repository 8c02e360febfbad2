-- Time: what is to come up, and what became of each time that it should have.
--
-- A thing is a reminder, whose text is brought up, or a job, whose text is run as a prompt. Its rule says when, in the
-- wall time of its zone, from `since` on: `2027-01-05T08:00+01:00` (once), `0 9 * * 1-5`, `FREQ=…`, `every 90 minutes`.
-- One occurrence of it is a slot, named by its wall time with the offset of that moment ("every N" by its instant):
-- `2026-11-30T09:00+01:00`. That name is all there is to tell one slot from another.
--
-- The ledger says what became of each slot. Everything of a thing up to `reached_at` has its one fate there: a row of
-- its own, or its place in a row of skipped ones, which stands for `count` of them in succession, from `slot` to
-- `last_slot`. What was missed while nothing ran follows from the rule and `reached_at`, so nothing about it needs to
-- be remembered, and changing a rule leaves nothing behind that would still come up by the old one.
--
--   things   reminders and jobs. Changing one adds to its version, to which a question about it is bound
--   slots    the ledger. A job's slot is running from the commit that starts its run to the one that takes its report

CREATE TABLE things (
    id          BIGINT PRIMARY KEY,
    agent       TEXT NOT NULL REFERENCES agents,
    kind        TEXT NOT NULL CHECK (kind IN ('reminder', 'job')),
    made_by     TEXT NOT NULL UNIQUE,        -- 'call:…' or 'request:…': making it twice makes it once
    title       TEXT NOT NULL,               -- of a job; '' for a reminder
    text        TEXT NOT NULL,
    label       BIGINT NOT NULL,             -- of the requests that wrote title and text
    act         TEXT NOT NULL,               -- what making it is charged to; each slot is an act of its own
    hops        BIGINT NOT NULL,             -- inherited by its slots
    rule        TEXT NOT NULL,
    zone        TEXT NOT NULL,
    since       TIMESTAMPTZ NOT NULL,
    zone_data   TEXT NOT NULL,               -- the version of the zone data that next_at was reckoned with
    state       TEXT NOT NULL CHECK (state IN ('active', 'paused', 'done', 'removed')),
    next_at     TIMESTAMPTZ,                 -- when the next slot is due
    reached_at  TIMESTAMPTZ NOT NULL,
    running     TEXT,                        -- the job's slot whose run has not been reported yet
    skipping    TEXT,                        -- the newest row of the ledger, if it is one of skipped slots
    version     BIGINT NOT NULL,
    made_at     TIMESTAMPTZ NOT NULL,
    no          BIGINT NOT NULL,
    CHECK ((state = 'active') = (next_at IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX things_due ON things (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX things_by_agent ON things (agent, kind, state);

CREATE TABLE slots (
    thing         BIGINT NOT NULL,
    slot          TEXT NOT NULL,
    at            TIMESTAMPTZ NOT NULL,      -- when it was due
    version       BIGINT NOT NULL,           -- of the thing, by whose rule it was
    fate          TEXT NOT NULL CHECK (fate IN ('running', 'ran', 'skipped', 'failed')),
    late_seconds  BIGINT,                    -- how long after `at` it came up; NULL: never
    why           TEXT,                      -- why it was skipped or failed, in the owner's words
    last_slot     TEXT,                      -- of skipped ones: the last that this row stands for
    last_at       TIMESTAMPTZ,
    count         BIGINT NOT NULL,           -- how many slots this row stands for
    conversation  BIGINT,                    -- of a job: the conversation of its run
    report        TEXT,                      -- of a job: what it said, if it had something to say
    settled_at    TIMESTAMPTZ,               -- when its fate was known
    no            BIGINT NOT NULL,
    PRIMARY KEY (thing, slot),
    CHECK ((fate = 'running') = (settled_at IS NULL)),
    CHECK ((fate = 'skipped') = (last_at IS NOT NULL) AND (fate = 'skipped') = (late_seconds IS NULL)),
    CHECK (fate NOT IN ('skipped', 'failed') OR why IS NOT NULL)
) WITH (fillfactor = 70);
CREATE INDEX slots_by_time ON slots (thing, at);
CREATE INDEX slots_running ON slots (thing) WHERE fate = 'running';

INSERT INTO dreamwalker_migrations (name) VALUES ('0002_time');
