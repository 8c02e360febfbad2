-- Workers: throw-away conversations, each doing one delegated task.
--
-- A worker is made by one call of a run and keyed by it, so a call that is carried out again finds the worker that it
-- made. What came of it is handed over once: as the result of the call, or, if the run has gone on without it, as a
-- message of its own. Only then does its row say that it has ended, in the same commit.
--
--   workers   one row is one worker: its conversation, the call that made it and until when it may work

CREATE TABLE workers (
    conversation  BIGINT PRIMARY KEY,        -- its own
    run           BIGINT NOT NULL,           -- with turn and position: the call that delegated the task
    turn          BIGINT NOT NULL,
    position      BIGINT NOT NULL,
    parent        BIGINT NOT NULL,           -- the conversation of that call
    agent         TEXT NOT NULL,
    act           TEXT NOT NULL,             -- what it is charged to
    hops          BIGINT NOT NULL,
    deadline_at   TIMESTAMPTZ NOT NULL,
    cut_short     TEXT CHECK (cut_short IN ('time', 'money')),  -- why its work was ended, where its run doesn't say it
    made_at       TIMESTAMPTZ NOT NULL,
    ended_at      TIMESTAMPTZ,               -- when what came of it was handed over, or was wanted no more
    no            BIGINT NOT NULL,
    UNIQUE (run, turn, position)
) WITH (fillfactor = 70);
CREATE INDEX workers_at_work ON workers (conversation) WHERE ended_at IS NULL;
CREATE INDEX workers_by_act ON workers (act);
CREATE INDEX workers_changed ON workers (parent, no);

INSERT INTO dreamwalker_migrations (name) VALUES ('0005_workers');
