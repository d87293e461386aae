-- +goose Up

-- Whom a room's owner made a host of it. giver is the actor who did, with the credential
-- it was done with: the appointment ends with that.
CREATE TABLE room_hosts (
    room       TEXT NOT NULL,
    person     TEXT NOT NULL,
    by_whom    TEXT NOT NULL,
    giver      TEXT NOT NULL,
    at         BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (room, person)
);
