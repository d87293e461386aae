-- +goose Up

-- What the transactions of the relay did, a row for each of them: messages that
-- still wait go from here to place_messages, and entries to place_audit, in time.
CREATE TABLE place_parcels (
    num  INTEGER PRIMARY KEY,
    at   BIGINT NOT NULL,
    body BLOB NOT NULL
);
