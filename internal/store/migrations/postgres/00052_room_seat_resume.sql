-- +goose Up

-- What takes up a seat's presence again, with the grant a host gave it: the secret
-- and the last number seen when it was given.
ALTER TABLE room_seats ADD COLUMN resume TEXT NOT NULL DEFAULT '';
ALTER TABLE room_seats ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
