-- The words of what was said, a little behind what is said.
--
-- To find a text's words and enter them into an index costs more than to store the text, and the owner waited for it
-- at each step of a run. Now they stand in a table of their own. The house enters those of some hundred entries at
-- once, when so many have come; a search looks through what is not entered yet itself. `entry_no` is the entry's own
-- commit number: everything up to the highest is entered. Nothing here can't be made anew from `entries`, so archives
-- leave it out.

CREATE TABLE entry_words (
    conversation BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    entry_no BIGINT NOT NULL,
    words TSVECTOR NOT NULL,
    no BIGINT NOT NULL,
    PRIMARY KEY (conversation, seq),
    FOREIGN KEY (conversation, seq) REFERENCES entries (conversation, seq) ON DELETE CASCADE
);

INSERT INTO entry_words (conversation, seq, entry_no, words, no)
SELECT conversation, seq, no, COALESCE(dreamwalker_words(dreamwalker_said(shown)), ''), no FROM entries
WHERE kind IN ('message', 'reply');

CREATE INDEX entry_words_words ON entry_words USING gin (words);
CREATE INDEX entry_words_by_no ON entry_words (entry_no);
DROP INDEX entries_words;

INSERT INTO dreamwalker_migrations (name) VALUES ('0010_words');
