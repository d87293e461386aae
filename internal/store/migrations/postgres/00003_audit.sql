-- +goose Up

-- The trail. Each hash covers the entry and the hash before it.
CREATE TABLE audit_entries (
    seq          BIGINT PRIMARY KEY,
    at           BIGINT NOT NULL,
    actor        TEXT NOT NULL,
    on_behalf_of TEXT NOT NULL,
    action       TEXT NOT NULL,
    target       TEXT NOT NULL,
    outcome      TEXT NOT NULL,
    duration     BIGINT NOT NULL,
    digest       TEXT NOT NULL,
    detail       TEXT NOT NULL,
    prev         BYTEA NOT NULL,
    hash         BYTEA NOT NULL
);
CREATE INDEX audit_entries_at ON audit_entries (at);
CREATE INDEX audit_entries_actor ON audit_entries (actor, seq);
CREATE INDEX audit_entries_action ON audit_entries (action, seq);
CREATE INDEX audit_entries_target ON audit_entries (target, seq);

-- The end of the chain; locking this row is the right to append.
CREATE TABLE audit_head (
    one  BIGINT PRIMARY KEY CHECK (one = 1),
    seq  BIGINT NOT NULL,
    hash BYTEA NOT NULL
);
INSERT INTO audit_head (one, seq, hash) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

-- A hub's signature over the chain up to an entry.
CREATE TABLE audit_checkpoints (
    seq        BIGINT PRIMARY KEY,
    at         BIGINT NOT NULL,
    hash       BYTEA NOT NULL,
    public_key BYTEA NOT NULL,
    signature  BYTEA NOT NULL
);
