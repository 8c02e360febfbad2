-- Questions: what only the owner may decide.
--
-- A call that the gate holds back, or with which an agent asks him something, waits as `asked` and has one row here. The
-- row holds the very bytes that will run, what he is told about them, and the version of what they would change. The
-- first answer wins, in one transaction with what it sets going. When he writes something new while it is open, the
-- call is `detached` and the run goes on; the outcome then enters as a message of its own.
--
--   questions        one row is one question, open or decided
--   calls.question   the question that held a call back, or whose yes set it going
--   calls.outside    which parts of a result are text from outside, by their place in its content: '[0,2]'
--   entries.seen_no  of an owner's entry: the newest commit that he had seen when he wrote it. What came in later is
--                    fresh to him

CREATE TABLE questions (
    id            BIGINT PRIMARY KEY,
    agent         TEXT NOT NULL,
    conversation  BIGINT NOT NULL,
    run           BIGINT NOT NULL,           -- with turn and position: the call that asks
    turn          BIGINT NOT NULL,
    position      BIGINT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('act', 'choice')),  -- an act that the gate holds; an agent's own question
    tool          TEXT NOT NULL,
    act           TEXT NOT NULL CHECK (act IS JSON),  -- the canonical arguments: these bytes are shown, and these run
    act_hash      TEXT NOT NULL,             -- of agent, tool and act
    thing         TEXT,                      -- what it would change, if that is something that has versions
    base_version  BIGINT,                    -- the version of it that the act was asked about
    label         BIGINT NOT NULL,           -- of the request that asked for it
    why           TEXT NOT NULL CHECK (why IS JSON),  -- {"rule", "found", "outside": [{"what", "origin", "at"}], "more"}
    reason        TEXT NOT NULL,             -- the agent's own words beside the act
    state         TEXT NOT NULL CHECK (state IN
                  ('open', 'answered', 'expired', 'stopped', 'changed', 'superseded')),
    answer        TEXT,                      -- 'yes' or 'no'; of a choice the owner's words, '' if he gave none
    asked_at      TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ NOT NULL,
    closed_at     TIMESTAMPTZ,
    started_at    TIMESTAMPTZ,               -- when an approved act that can't be repeated was begun
    reminded_at   TIMESTAMPTZ,               -- when he was told a second time, a day before it expires
    no            BIGINT NOT NULL,
    UNIQUE (run, turn, position),
    CHECK ((thing IS NULL) = (base_version IS NULL)),
    CHECK ((state = 'open') = (closed_at IS NULL)),
    CHECK ((state = 'answered') = (answer IS NOT NULL))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX questions_one_open_per_act ON questions (act_hash) WHERE state = 'open';
CREATE INDEX questions_open ON questions (expires_at) WHERE state = 'open';
CREATE INDEX questions_changed ON questions (conversation, no);

ALTER TABLE calls ADD COLUMN question BIGINT, ADD COLUMN outside TEXT CHECK (outside IS JSON);
ALTER TABLE entries ADD COLUMN seen_no BIGINT;

INSERT INTO dreamwalker_migrations (name) VALUES ('0004_questions');
