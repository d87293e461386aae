-- +goose Up

-- Checkpoints that other hubs left here, so that nobody who owns their database can cut
-- their trail unseen. Nothing takes a row away.
CREATE TABLE audit_witnessed (
    public_key  TEXT NOT NULL,
    seq         BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    hash        BYTEA NOT NULL,
    signature   BYTEA NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (public_key, seq, hash)
);
