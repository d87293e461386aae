-- +goose Up

-- Where a message was said; empty for this hub's own place.
ALTER TABLE skill_messages ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE skill_peers ADD COLUMN place TEXT NOT NULL DEFAULT '';

-- The agents a person named when approving; '[]' is every agent that lists the skill.
ALTER TABLE skill_items ADD COLUMN agents TEXT NOT NULL DEFAULT '[]';

-- Plain texts of peers on their way to an agent's conversation: asked, due, and then
-- done, refused or failed.
CREATE TABLE skill_notes (
    me       TEXT NOT NULL,
    peer     TEXT NOT NULL,
    id       TEXT NOT NULL,
    agent    TEXT NOT NULL,
    place    TEXT NOT NULL,
    level    TEXT NOT NULL,
    body     TEXT NOT NULL,
    state    TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    next_at  BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    reason   TEXT NOT NULL,
    PRIMARY KEY (me, peer, id)
);
CREATE INDEX skill_notes_state ON skill_notes (state, me);
CREATE INDEX skill_notes_age ON skill_notes (at);

-- Places that were visited, and the key each had first.
CREATE TABLE skill_places (
    url         TEXT PRIMARY KEY,
    place       TEXT NOT NULL,
    place_key   TEXT NOT NULL,
    changed     TEXT NOT NULL,
    changed_key TEXT NOT NULL,
    seen_at     BIGINT NOT NULL
);

-- Agents of this hub at other places, for a while.
CREATE TABLE skill_visits (
    id           TEXT PRIMARY KEY,
    agent        TEXT NOT NULL,
    agent_id     TEXT NOT NULL,
    url          TEXT NOT NULL,
    place        TEXT NOT NULL,
    name         TEXT NOT NULL,
    keep         BIGINT NOT NULL,
    insecure     BIGINT NOT NULL,
    started_at   BIGINT NOT NULL,
    until_at     BIGINT NOT NULL,
    interactions BIGINT NOT NULL,
    most         BIGINT NOT NULL,
    warning      TEXT NOT NULL,
    problem      TEXT NOT NULL,
    ending       TEXT NOT NULL
);
