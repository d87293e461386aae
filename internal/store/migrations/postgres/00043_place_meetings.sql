-- +goose Up

-- Stretches of direct talk between an agent of this hub and another one.
CREATE TABLE place_meetings (
    id         TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    peer       TEXT NOT NULL,
    opened_by  TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL,
    summary    TEXT NOT NULL
);
CREATE INDEX place_meetings_agent ON place_meetings (agent, started_at);
CREATE INDEX place_meetings_age ON place_meetings (started_at);
