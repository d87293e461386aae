-- +goose Up

-- seq is reserved in blocks: what was given out is always below it.
CREATE TABLE rooms (
    id         TEXT PRIMARY KEY,
    title      TEXT NOT NULL,
    owner      TEXT NOT NULL,
    room_key   TEXT NOT NULL,
    version    BIGINT NOT NULL,
    policy     TEXT NOT NULL,
    signer     TEXT NOT NULL DEFAULT '',
    signed_ver DOUBLE PRECISION NOT NULL DEFAULT 0,
    locked     BIGINT NOT NULL DEFAULT 0,
    lobby      BIGINT NOT NULL DEFAULT 0,
    publishers TEXT NOT NULL DEFAULT '[]',
    seq        BIGINT NOT NULL DEFAULT 0,
    rev        BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);

CREATE TABLE room_policies (
    room    TEXT NOT NULL,
    version BIGINT NOT NULL,
    policy  TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (room, version)
);

CREATE TABLE room_bans (
    room    TEXT NOT NULL,
    id      TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    at      BIGINT NOT NULL,
    reason  TEXT NOT NULL,
    PRIMARY KEY (room, id)
);

-- Who may come back: state is the presence, resume the hash of its secret.
CREATE TABLE room_presences (
    room    TEXT NOT NULL,
    id      TEXT NOT NULL,
    resume  TEXT NOT NULL,
    state   TEXT NOT NULL,
    left_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (room, id)
);

-- Identities that once were let in and need not knock again.
CREATE TABLE room_known (
    room     TEXT NOT NULL,
    identity TEXT NOT NULL,
    PRIMARY KEY (room, identity)
);

-- Which presence a credit pays for, in the whole cluster.
CREATE TABLE room_credits (
    sub         TEXT PRIMARY KEY,
    room        TEXT NOT NULL,
    participant TEXT NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX room_credits_participant ON room_credits (room, participant);
