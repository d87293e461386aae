-- +goose Up

-- A hub that runs; it renews expires_at while it lives.
CREATE TABLE hubs (
    id         TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Who owns a thing. The epoch rises with every change of owner and is checked
-- by every write of that thing.
CREATE TABLE leases (
    name  TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    epoch BIGINT NOT NULL
);
CREATE INDEX leases_owner ON leases (owner);

CREATE TABLE streams (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    last_seq   BIGINT NOT NULL,
    oldest_seq BIGINT NOT NULL
);

CREATE TABLE events (
    stream BIGINT NOT NULL,
    seq    BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    kind   TEXT NOT NULL,
    data   BYTEA NOT NULL,
    PRIMARY KEY (stream, seq)
);

-- Small facts of the hub itself.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
