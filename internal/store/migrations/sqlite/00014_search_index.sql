-- +goose Up

-- The texts are normalised: a word ends at a space, which is what the ascii
-- tokeniser cuts at. Words are not searched by their places, so the index need
-- not know them.
DROP TABLE fts_talk;
CREATE VIRTUAL TABLE fts_talk USING fts5 (
    scope, text, content = 'talk_texts', content_rowid = 'id', tokenize = 'ascii', detail = column
);
INSERT INTO fts_talk (fts_talk) VALUES ('rebuild');
