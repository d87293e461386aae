-- +goose Up

-- Memory that somebody shares on purpose: the archives of one agent's conversations with one sender, or one of them, for
-- another agent's conversations with a sender, until a time. maker is who gave it, as JSON: it lasts as long as their right.
CREATE TABLE talk_grants (
    id         TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    sender     TEXT NOT NULL,
    archive    TEXT NOT NULL,
    to_agent   TEXT NOT NULL,
    to_sender  TEXT NOT NULL,
    maker      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX talk_grants_for ON talk_grants (to_agent, to_sender);
