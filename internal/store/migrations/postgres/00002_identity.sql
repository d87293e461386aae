-- +goose Up

-- A person who uses this hub. At most one is its owner.
CREATE TABLE people (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    owner      BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX people_one_owner ON people (owner) WHERE owner = 1;

-- A paired device and the public key it was pinned with.
CREATE TABLE devices (
    id           TEXT PRIMARY KEY,
    person       TEXT NOT NULL,
    name         TEXT NOT NULL,
    public_key   BYTEA NOT NULL,
    created_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL DEFAULT 0,
    revoked_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX devices_person ON devices (person);

-- What a credential may do. Its secrets are rows of their own, because a
-- rotated one lives on for some minutes.
CREATE TABLE tokens (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    role         TEXT NOT NULL,
    person       TEXT NOT NULL,
    device       TEXT NOT NULL DEFAULT '',
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    ttl          BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0,
    used_at      BIGINT NOT NULL DEFAULT 0,
    revoked_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX tokens_person ON tokens (person);
CREATE INDEX tokens_device ON tokens (device) WHERE device <> '';

-- lookup finds a row; salt and hash prove it. Neither tells the secret.
CREATE TABLE token_secrets (
    lookup      TEXT NOT NULL,
    salt        BYTEA NOT NULL,
    hash        BYTEA NOT NULL,
    token       TEXT NOT NULL,
    valid_until BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (lookup, token)
);
CREATE INDEX token_secrets_token ON token_secrets (token);

-- One-time login links.
CREATE TABLE login_links (
    id         TEXT PRIMARY KEY,
    lookup     TEXT NOT NULL,
    salt       BYTEA NOT NULL,
    hash       BYTEA NOT NULL,
    person     TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX login_links_lookup ON login_links (lookup);

-- Logged-in pages. A page that logged in with a token ends with that token.
CREATE TABLE page_sessions (
    id           TEXT PRIMARY KEY,
    lookup       TEXT NOT NULL,
    salt         BYTEA NOT NULL,
    hash         BYTEA NOT NULL,
    person       TEXT NOT NULL,
    token        TEXT NOT NULL DEFAULT '',
    scopes       TEXT NOT NULL,
    agent        TEXT NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX page_sessions_lookup ON page_sessions (lookup);
CREATE INDEX page_sessions_person ON page_sessions (person);

-- Every revocation and rotation, numbered without gaps in commit order, so that
-- a hub that missed a message finds what it missed.
CREATE TABLE identity_changes (
    seq  BIGINT PRIMARY KEY,
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    what TEXT NOT NULL,
    at   BIGINT NOT NULL
);
CREATE TABLE identity_clock (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    seq BIGINT NOT NULL
);
INSERT INTO identity_clock (one, seq) VALUES (1, 0);

CREATE TABLE passkeys (
    id           TEXT PRIMARY KEY,
    person       TEXT NOT NULL,
    name         TEXT NOT NULL,
    credential   TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX passkeys_person ON passkeys (person);

-- A passkey ceremony between its two halves, used up by the second.
CREATE TABLE passkey_ceremonies (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    person     TEXT NOT NULL,
    data       TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
