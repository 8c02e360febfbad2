-- The foundation: what dreamwalker remembers.
--
-- Two rules hold everywhere. Every changed row carries the number of the commit that changed it (`no`), so that a
-- client that has seen commit N reads what is above N and knows all there is. And every writing statement renews the
-- lease in the same breath, so that a process that has lost it can write nothing.
--
-- The tables that every turn writes carry no foreign keys: one process writes, keys are handed out once, and each
-- foreign key would lock, and so rewrite, a parent row at every insert.
--
-- Times are TIMESTAMPTZ. Money is BIGINT nano-dollars (a thousand-millionth of a dollar). JSON is kept as TEXT, byte
-- for byte as it was sent, since a model's prompt cache counts bytes. Ids are handed out by the one process that
-- holds the lease; whatever must happen once has a key of its own beside its id.
--
--   dreamwalker_lease      one row: who may write, until when, and the number of the last commit
--   dreamwalker_migrations the files that made this schema; each file ends by writing its own name here
--   settings               what the owner chose (zone, limits), a JSON value by name
--   agents                 named agents: job, standing instructions, grants, model
--   conversations          ordered transcripts. kind home: an agent's own; ask, job, worker: made by one call or slot
--   messages               what came in from outside a run; accepted first, placed into the transcript later
--   runs                   the work that answers what was placed
--   entries                the transcript: one row is one message of the Messages API, as it was shown to the model
--   calls                  one tool use of a run; it has a result as soon as its state says it is finished or detached
--   notes, note_versions   the owner's notes (or an agent's work notes) and everything they ever said
--   budget                 what a day or a month has used, and what the owner raised its limit to
--   spend                  what each request to a model was reserved for, and what it cost

CREATE TABLE dreamwalker_lease (
    id          BIGINT PRIMARY KEY CHECK (id = 1),
    holder      TEXT NOT NULL,               -- random for each opening; '' when given up
    generation  TEXT NOT NULL COLLATE "C",   -- the deploy; a newer one sorts after an older one
    commit_no   BIGINT NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 10);                    -- rewritten by every commit: leave room to do it in place
INSERT INTO dreamwalker_lease VALUES (1, '', '', 0, '1970-01-01 00:00:00+00');

-- A composed statement asks this of each of its parts: had it an effect on as many rows as it must?
-- A false one undoes the whole statement. DW001: another process writes now, or this commit already happened.
-- DW002: a row was not as expected. DW003: the money does not suffice.
CREATE FUNCTION dreamwalker_require(ok BOOLEAN, code TEXT, what TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql AS $$
BEGIN
    IF ok THEN RETURN TRUE; END IF;
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = what;
END $$;

CREATE TABLE dreamwalker_migrations (
    name        TEXT PRIMARY KEY,
    checksum    TEXT,                        -- NULL where the platform applied the file
    applied_at  TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE settings (
    name        TEXT PRIMARY KEY,
    value       TEXT NOT NULL CHECK (value IS JSON),
    no          BIGINT NOT NULL
);

CREATE TABLE agents (
    name          TEXT PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
    job           TEXT NOT NULL,
    instructions  TEXT NOT NULL,
    grants        TEXT NOT NULL DEFAULT '[]' CHECK (grants IS JSON),
    model         TEXT,                      -- NULL: the default model
    made_at       TIMESTAMPTZ NOT NULL,
    retired_at    TIMESTAMPTZ,
    no            BIGINT NOT NULL
);

CREATE TABLE conversations (
    id          BIGINT PRIMARY KEY,
    agent       TEXT NOT NULL REFERENCES agents,
    kind        TEXT NOT NULL CHECK (kind IN ('home', 'ask', 'job', 'worker')),
    made_by     TEXT NOT NULL UNIQUE,        -- 'home:NAME', 'call:RUN.TURN.POSITION', 'slot:…'
    fresh_from  BIGINT NOT NULL DEFAULT 1,   -- requests hold nothing below this seq
    made_at     TIMESTAMPTZ NOT NULL,
    no          BIGINT NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX conversations_by_agent ON conversations (agent, kind);

CREATE TABLE runs (
    id            BIGINT PRIMARY KEY,
    conversation  BIGINT NOT NULL,
    act           TEXT NOT NULL,             -- 'message:ID' or 'slot:…': what all of it is charged to
    hops          BIGINT NOT NULL,
    asked_by      TEXT UNIQUE,               -- key of the call that waits for this run, if one does
    state         TEXT NOT NULL CHECK (state IN ('open', 'waiting', 'done', 'failed', 'stopped')),
    turn          BIGINT NOT NULL,           -- replies so far
    attempt       BIGINT NOT NULL,           -- times it was taken up again since it last got on
    retries       BIGINT NOT NULL,           -- times the model was asked in vain for the present turn
    asked         BIGINT NOT NULL,           -- requests to a model so far: with id, the key of a reservation
    retry_at      TIMESTAMPTZ,
    reason        TEXT,                      -- why it waits, failed or was stopped, in the owner's words
    opened_at     TIMESTAMPTZ NOT NULL,
    closed_at     TIMESTAMPTZ,
    no            BIGINT NOT NULL,
    CHECK ((state IN ('open', 'waiting')) = (closed_at IS NULL)),
    CHECK (state NOT IN ('waiting', 'failed', 'stopped') OR reason IS NOT NULL)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX runs_one_at_a_time ON runs (conversation) WHERE state IN ('open', 'waiting');
CREATE INDEX runs_changed ON runs (conversation, no);

CREATE TABLE messages (
    id            BIGINT PRIMARY KEY,
    conversation  BIGINT NOT NULL,
    source_key    TEXT NOT NULL UNIQUE,      -- 'request:…', 'call:…', 'slot:…', 'question:…': a retry meets it
    digest        TEXT NOT NULL,             -- of what was sent, so that a retry with other content is told apart
    kind          TEXT NOT NULL CHECK (kind IN
                  ('owner', 'task', 'agent', 'job', 'reminder', 'notice', 'outcome', 'fresh')),
    body          TEXT NOT NULL CHECK (body IS JSON),  -- {"text", "quotes": [{"from", "text"}], …}
    label         BIGINT NOT NULL,           -- 0: the owner's own words
    cause         TEXT,                      -- what made it, for why
    act           TEXT NOT NULL,
    hops          BIGINT NOT NULL,
    interrupt     BOOLEAN NOT NULL,
    accepted_no   BIGINT NOT NULL,
    seen_no       BIGINT NOT NULL,           -- the newest commit that the owner's client had shown him
    accepted_at   TIMESTAMPTZ NOT NULL,
    withdrawn_at  TIMESTAMPTZ,
    placed_seq    BIGINT,
    run           BIGINT,                    -- the run that it opened or joined
    no            BIGINT NOT NULL,
    CHECK (withdrawn_at IS NULL OR placed_seq IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX messages_unplaced ON messages (conversation, id) WHERE placed_seq IS NULL AND withdrawn_at IS NULL;
CREATE INDEX messages_changed ON messages (conversation, no);

CREATE TABLE entries (
    conversation  BIGINT NOT NULL,
    seq           BIGINT NOT NULL,
    run           BIGINT,
    turn          BIGINT,                    -- of a reply: its turn, which its calls share
    kind          TEXT NOT NULL CHECK (kind IN ('message', 'reply', 'summary', 'fresh')),
    source        TEXT NOT NULL CHECK (source IN ('owner', 'outside', 'model', 'house')),
    shown         TEXT NOT NULL CHECK (shown IS JSON),  -- content blocks, as they stand in every later request
    label         BIGINT NOT NULL,
    message       BIGINT,                    -- the message that it shows
    covers_to     BIGINT,                    -- of a summary: it stands for everything up to this seq
    cut           TEXT,                      -- why a reply ends early, if it does
    at            TIMESTAMPTZ NOT NULL,
    no            BIGINT NOT NULL,
    PRIMARY KEY (conversation, seq)
);
CREATE INDEX entries_changed ON entries (conversation, no);

CREATE TABLE calls (
    run           BIGINT NOT NULL,
    turn          BIGINT NOT NULL,
    position      BIGINT NOT NULL,
    conversation  BIGINT NOT NULL,
    tool          TEXT NOT NULL,
    arguments     TEXT NOT NULL,             -- what the model wrote, JSON or not
    state         TEXT NOT NULL CHECK (state IN ('begun', 'asked', 'detached', 'finished')),
    result        TEXT CHECK (result IS JSON),  -- the tool_result block, as it stands in every later request
    failed        BOOLEAN,
    label         BIGINT NOT NULL,           -- of the result, once there is one
    began_at      TIMESTAMPTZ NOT NULL,
    finished_at   TIMESTAMPTZ,
    no            BIGINT NOT NULL,
    PRIMARY KEY (run, turn, position),
    CHECK ((state IN ('detached', 'finished')) = (result IS NOT NULL)),
    CHECK (state <> 'finished' OR (failed IS NOT NULL AND finished_at IS NOT NULL))
) WITH (fillfactor = 60);
CREATE INDEX calls_unfinished ON calls (run) WHERE state IN ('begun', 'asked');
CREATE INDEX calls_changed ON calls (conversation, no);

CREATE TABLE notes (
    id          BIGINT PRIMARY KEY,
    agent       TEXT NOT NULL REFERENCES agents,
    title       TEXT NOT NULL,
    version     BIGINT NOT NULL,             -- the newest
    removed     BOOLEAN NOT NULL DEFAULT FALSE,
    no          BIGINT NOT NULL
);
CREATE UNIQUE INDEX notes_by_title ON notes (agent, lower(title));

CREATE TABLE note_versions (
    note        BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    made_by     TEXT NOT NULL UNIQUE,        -- 'call:…' or 'request:…': writing it twice writes it once
    text        TEXT NOT NULL,
    label       BIGINT NOT NULL,             -- of the request that wrote it
    run         BIGINT,
    at          TIMESTAMPTZ NOT NULL,
    no          BIGINT NOT NULL,
    PRIMARY KEY (note, version)
);

CREATE TABLE budget (
    period      TEXT PRIMARY KEY,            -- '2026-11-29' or '2026-11', in the owner's zone
    used        BIGINT NOT NULL,             -- nano-dollars: settled costs and open reservations
    raised_to   BIGINT,                      -- nano-dollars: the owner's own limit for this period
    told_at     TIMESTAMPTZ,                 -- when he was told that it is reached
    no          BIGINT NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE spend (
    run           BIGINT NOT NULL,
    asked         BIGINT NOT NULL,           -- which request of this run
    kind          TEXT NOT NULL,             -- 'turn', 'search', 'compaction'
    agent         TEXT NOT NULL,
    act           TEXT NOT NULL,
    model         TEXT NOT NULL,
    day           TEXT NOT NULL,             -- the periods that were charged
    month         TEXT NOT NULL,
    reserved      BIGINT NOT NULL,           -- nano-dollars, the worst case
    cost          BIGINT,                    -- nano-dollars; NULL: not settled, so the reservation stands
    input_tokens        BIGINT,
    cache_write_tokens  BIGINT,
    cache_read_tokens   BIGINT,
    output_tokens       BIGINT,
    searches            BIGINT,
    at            TIMESTAMPTZ NOT NULL,
    no            BIGINT NOT NULL,
    PRIMARY KEY (run, asked)
) WITH (fillfactor = 70);
CREATE INDEX spend_by_day ON spend (day);

INSERT INTO dreamwalker_migrations (name) VALUES ('0001_foundation');
