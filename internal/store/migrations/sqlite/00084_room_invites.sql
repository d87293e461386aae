-- +goose Up

-- Passes to rooms, so that they can be listed and withdrawn. id is the hash of the pass.
CREATE TABLE room_invites (
    room       TEXT NOT NULL,
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    jkt        TEXT NOT NULL,
    by_whom    TEXT NOT NULL,
    at         BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    withdrawn  BIGINT NOT NULL,
    PRIMARY KEY (room, id)
);

-- Whether an agent of the hub was given the key of a sealed room.
ALTER TABLE rooms ADD COLUMN shared BIGINT NOT NULL DEFAULT 0;
