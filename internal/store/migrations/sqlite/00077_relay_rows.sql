-- +goose Up

-- The hub knows which messages wait where. Indices that only said the same made every
-- message touch two more pages of the disk.
DROP INDEX place_messages_queue;
DROP INDEX place_messages_expiry;
