-- The phone: what is shown there, and the buttons that come with it.
--
-- A push is one thing to be shown: a reminder's slot, a job's report, a question. Its id is the key of what it tells,
-- so that there is one row of it whatever is retried, and the phone, which is sent the id too, shows one notification
-- of it: a later one takes the place of an earlier one. A try is counted before it is made, so that a process that
-- dies over and over does not send for ever.
--
--   pushes    the outbox, and what became of each push
--   buttons   the tokens that notifications carry, by their hashes

CREATE TABLE pushes (
    id            TEXT PRIMARY KEY,          -- 'slot:…', 'question:…', 'test:…'
    kind          TEXT NOT NULL CHECK (kind IN ('reminder', 'report', 'question', 'notice', 'test')),
    thing         BIGINT,                    -- the reminder or job that it is of
    title         TEXT NOT NULL,
    text          TEXT NOT NULL,
    buttons       TEXT NOT NULL CHECK (buttons IS JSON),  -- [{"purpose", "label", "whole"}] beside the one that opens the app
    buttons_until TIMESTAMPTZ NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'failed', 'off')),
    tries         BIGINT NOT NULL,           -- made or begun
    next_at       TIMESTAMPTZ,               -- when the next try is due
    why           TEXT,                      -- why the last try failed, or why none is made, in the owner's words
    answer        TEXT,                      -- what was pressed: 'done', 'snooze'
    answered_at   TIMESTAMPTZ,
    made_at       TIMESTAMPTZ NOT NULL,
    settled_at    TIMESTAMPTZ,               -- when it was sent, or given up
    no            BIGINT NOT NULL,
    CHECK ((state = 'waiting') = (next_at IS NOT NULL) AND (state = 'waiting') = (settled_at IS NULL)),
    CHECK (state NOT IN ('failed', 'off') OR why IS NOT NULL),
    CHECK ((answer IS NULL) = (answered_at IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX pushes_due ON pushes (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX pushes_by_time ON pushes (made_at, id);

CREATE TABLE buttons (
    hash          TEXT PRIMARY KEY,          -- SHA-256 of the token, in hex
    push          TEXT NOT NULL,
    purpose       TEXT NOT NULL,             -- the one thing that it can do: 'done', 'snooze:10'
    expires_at    TIMESTAMPTZ NOT NULL,
    used_at       TIMESTAMPTZ,               -- when it was pressed first; later presses only hear what was decided
    no            BIGINT NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX buttons_by_expiry ON buttons (expires_at);

INSERT INTO dreamwalker_migrations (name) VALUES ('0003_phone');
