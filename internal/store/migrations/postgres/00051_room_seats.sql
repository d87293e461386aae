-- +goose Up

-- Whom hubs themselves seat in rooms. agent is an agent's name, or demo:NAME;
-- seat_key its private key for that room, tools the names an operator listed.
CREATE TABLE room_seats (
    room     TEXT NOT NULL,
    agent    TEXT NOT NULL,
    key_id   TEXT NOT NULL,
    seat_key TEXT NOT NULL,
    tools    TEXT NOT NULL,
    by_whom  TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (room, agent)
);
