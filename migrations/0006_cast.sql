-- The cast: agents that ask each other, and what a run lived through.
--
-- A message from one agent to another is worked like a delegated task: in a conversation of its own, made by the call
-- that sends it and keyed by it, with what came of it handed over once. So it is a row of `workers` with a receiver,
-- whose instructions, notes and tools its conversation has; without one it is a throw-away worker.
--
--   workers.receiver     the agent that was written to, whose conversation it is; NULL: a worker
--   workers.handed_off   the sender does not wait: its call has a result, its run may end, and stopping it stops nothing
--   resumptions          one row for each time that a run was taken up again, after a restart or a failure

ALTER TABLE workers ADD COLUMN receiver TEXT,
    ADD COLUMN handed_off BOOLEAN NOT NULL DEFAULT FALSE,
    DROP CONSTRAINT workers_cut_short_check,
    ADD CONSTRAINT workers_cut_short_check CHECK (cut_short IN ('time', 'money', 'retired'));
CREATE INDEX workers_between ON workers (agent, receiver, conversation) WHERE receiver IS NOT NULL;

CREATE TABLE resumptions (
    run         BIGINT NOT NULL,
    attempt     BIGINT NOT NULL,             -- in vain so far: 1 is the first since the run last got on
    turn        BIGINT NOT NULL,             -- how far it had come
    generation  TEXT NOT NULL,               -- the deploy that took it up
    at          TIMESTAMPTZ NOT NULL,
    no          BIGINT NOT NULL,
    PRIMARY KEY (run, no)
);

INSERT INTO dreamwalker_migrations (name) VALUES ('0006_cast');
