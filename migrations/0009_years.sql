-- Running for years: long conversations are summed up.
--
-- A summary is an entry that stands in later requests for everything up to `covers_to`, but for what was said to the
-- agent from `keeps_from` on, which stays there word for word, above it. Nothing that it covers is deleted or changed.
-- There is at most one in a request: each covers the one before it.

ALTER TABLE entries ADD COLUMN keeps_from BIGINT;  -- of a summary; NULL: nothing that it covers stays word for word
CREATE INDEX entries_summaries ON entries (conversation, seq) WHERE kind = 'summary';

INSERT INTO dreamwalker_migrations (name) VALUES ('0009_years');
