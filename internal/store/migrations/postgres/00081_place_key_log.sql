-- +goose Up

-- Every binding of an id to a key at the meeting place, as leaves of a Merkle tree; the
-- hashes are those of the tree, in the order golang.org/x/mod/sumdb/tlog stores them.
CREATE TABLE place_key_log (
    n      BIGINT NOT NULL PRIMARY KEY,
    agent  TEXT NOT NULL,
    key_id TEXT NOT NULL,
    leaf   TEXT NOT NULL,
    pem    TEXT NOT NULL
);
CREATE INDEX place_key_log_agent ON place_key_log (agent, n);

CREATE TABLE place_key_hashes (
    i    BIGINT NOT NULL PRIMARY KEY,
    hash BYTEA NOT NULL
);

-- What was seen of other places' logs, to be compared. Two of one size are a proof.
CREATE TABLE place_heads (
    place_key TEXT NOT NULL,
    size      BIGINT NOT NULL,
    root      TEXT NOT NULL,
    signature TEXT NOT NULL,
    seen_at   BIGINT NOT NULL,
    PRIMARY KEY (place_key, size, root)
);
