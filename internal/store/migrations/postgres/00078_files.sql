-- +goose Up

-- Pictures, PDFs and voice notes: each once, named by the digest of its bytes.
CREATE TABLE files (
    digest TEXT NOT NULL PRIMARY KEY,
    type   TEXT NOT NULL,
    size   BIGINT NOT NULL,
    at     BIGINT NOT NULL
);
CREATE TABLE file_parts (
    digest TEXT NOT NULL,
    n      BIGINT NOT NULL,
    data   BYTEA NOT NULL,
    PRIMARY KEY (digest, n)
);

-- Who has a file, and for what: a conversation, a task, or just put (until_at says until when).
CREATE TABLE file_holds (
    digest   TEXT NOT NULL,
    person   TEXT NOT NULL,
    thing    TEXT NOT NULL,
    name     TEXT NOT NULL,
    at       BIGINT NOT NULL,
    until_at BIGINT NOT NULL,
    PRIMARY KEY (digest, person, thing)
);
CREATE INDEX file_holds_person ON file_holds (person);
CREATE INDEX file_holds_thing ON file_holds (thing);
CREATE INDEX file_holds_until ON file_holds (until_at) WHERE until_at > 0;

-- The files of a message, as JSON; nothing for none.
ALTER TABLE talk_messages ADD COLUMN files TEXT NOT NULL DEFAULT '';
