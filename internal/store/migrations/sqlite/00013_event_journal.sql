-- +goose Up

-- Events of many streams as they came, one row per transaction, until they are
-- moved to their streams.
CREATE TABLE event_journal (
    id   INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never given twice
    data BLOB NOT NULL
);

-- Consecutive events of one stream, packed. An event is here or in events.
CREATE TABLE event_runs (
    stream   BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (stream, last_seq)
);
