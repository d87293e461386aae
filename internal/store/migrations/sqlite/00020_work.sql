-- +goose Up

-- Texts of people and models are bytes: they are kept exactly, and PostgreSQL's
-- text knows no NUL.
CREATE TABLE work_tasks (
    id         TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    agent      TEXT NOT NULL,
    status     TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL,
    purged     BIGINT NOT NULL DEFAULT 0,
    pending    BIGINT NOT NULL DEFAULT 0,
    key_hash   TEXT NOT NULL,
    goal       BLOB NOT NULL,
    spec       BLOB NOT NULL,
    -- The text of the turn up to the event text_seq; what follows is in the log.
    turn       BIGINT NOT NULL,
    text       BLOB NOT NULL,
    text_seq   BIGINT NOT NULL,
    usage      TEXT NOT NULL,
    state      BLOB NOT NULL,
    end_kind   TEXT NOT NULL DEFAULT '',
    end_event  BLOB
);
CREATE INDEX work_tasks_of ON work_tasks (principal, id);
CREATE INDEX work_tasks_open ON work_tasks (principal, id) WHERE ended_at = 0;
CREATE INDEX work_tasks_ended ON work_tasks (ended_at) WHERE purged = 0 AND ended_at > 0;

-- Idempotency keys, by the hash of principal and key. A key whose task failed
-- recoverably is free: the next submit is a new attempt.
CREATE TABLE work_keys (
    hash       TEXT PRIMARY KEY,
    task       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    attempt    BIGINT NOT NULL,
    free       BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX work_keys_expires ON work_keys (expires_at) WHERE expires_at > 0;

-- One row per person who submits, to count running tasks under its lock.
CREATE TABLE work_people (
    principal TEXT PRIMARY KEY,
    submits   BIGINT NOT NULL
);

-- What the model was told and said, so that another hub can go on.
CREATE TABLE work_history (
    task TEXT NOT NULL,
    n    BIGINT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (task, n)
);

-- Messages to running tasks. Waiting ones have done = 0.
CREATE TABLE work_messages (
    id          TEXT PRIMARY KEY,
    task        TEXT NOT NULL,
    principal   TEXT NOT NULL,
    request     TEXT NOT NULL,
    at          BIGINT NOT NULL,
    done        BIGINT NOT NULL,
    disposition TEXT NOT NULL,
    place       BIGINT NOT NULL,
    data        BLOB NOT NULL
);
CREATE INDEX work_messages_of ON work_messages (task, id);
CREATE INDEX work_messages_request ON work_messages (principal, request) WHERE request <> '';

-- Approvals as events of their tasks.
CREATE TABLE work_approvals (
    id           TEXT PRIMARY KEY,
    task         TEXT NOT NULL,
    principal    TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    resolved_seq BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    data         BLOB NOT NULL
);
CREATE INDEX work_approvals_of ON work_approvals (task, seq);
CREATE INDEX work_approvals_open ON work_approvals (principal, seq) WHERE resolved_seq = 0;
