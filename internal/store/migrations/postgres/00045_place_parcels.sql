-- +goose Up

-- What the transactions of the relay did, a row for each of them. Only a hub with
-- SQLite writes here; what a backup of one brings along is taken in at the start.
CREATE TABLE place_parcels (
    num  BIGINT PRIMARY KEY,
    at   BIGINT NOT NULL,
    body BYTEA NOT NULL
);
