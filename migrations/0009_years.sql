-- Running for years: long conversations are summed up, and all that was ever said can be searched.
--
-- A summary is an entry that stands in later requests for everything up to `covers_to`, but for what was said to the
-- agent from `keeps_from` on, which stays there word for word, above it. Nothing that it covers is deleted or changed.
-- There is at most one in a request: each covers the one before it.
--
-- What is searched are words. Between them stands whatever is neither letter nor digit; in scripts that put no spaces
-- between words (Chinese, Japanese, Thai, … and Korean, whose words grow endings) each character is a word, and a run
-- of them is found as words in succession. This needs no extension, and hangs on no locale.

ALTER TABLE entries ADD COLUMN keeps_from BIGINT;  -- of a summary; NULL: nothing that it covers stays word for word
CREATE INDEX entries_summaries ON entries (conversation, seq) WHERE kind = 'summary';

-- The texts of content blocks, without the house's line that tells a model the time.
CREATE FUNCTION dreamwalker_said(shown TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(block ->> 'text', E'\n') FROM jsonb_path_query(shown::jsonb, '$[*]') AS blocks(block)
    WHERE block ->> 'type' = 'text' AND block ->> 'text' !~ '^\[\d{4}-\d\d-\d\d \w+ \d\d:\d\d [\w/+-]+\]$'
$$;

-- The words of a text. What is longer than any tsvector may be is searched by its beginning.
CREATE FUNCTION dreamwalker_words(said TEXT) RETURNS TSVECTOR LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 AS $$
    SELECT to_tsvector('pg_catalog.simple'::regconfig, regexp_replace(
        regexp_replace(left(said, 100000), '[^a-zA-Z0-9\u00aa-\u1fff\u2c00-\u2fef\u3005-\u3007\u3040-\ufeff\uff10-\uffdc\U00010000-\U0010ffff]+', ' ', 'g'),
        '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])',
        ' \1 ', 'g'))
$$;

CREATE INDEX entries_words ON entries USING gin (dreamwalker_words(dreamwalker_said(shown)))
    WHERE kind IN ('message', 'reply');
CREATE INDEX entries_by_no ON entries (no) WHERE kind IN ('message', 'reply');
CREATE INDEX notes_words ON note_versions USING gin (dreamwalker_words(text));

INSERT INTO dreamwalker_migrations (name) VALUES ('0009_years');
