-- +goose Up

-- A question to a person before something happens. Only a pending row changes,
-- and only once.
CREATE TABLE approvals (
    id            TEXT PRIMARY KEY,
    principal     TEXT NOT NULL,
    kind          TEXT NOT NULL,
    title         TEXT NOT NULL,
    tool          TEXT NOT NULL,
    arguments     TEXT NOT NULL,
    digest        TEXT NOT NULL,
    target        TEXT NOT NULL,
    reason        TEXT NOT NULL,
    requested_by  TEXT NOT NULL,
    on_behalf_of  TEXT NOT NULL,
    asking_token  TEXT NOT NULL,
    task          TEXT NOT NULL,
    conversation  TEXT NOT NULL,
    questions     TEXT NOT NULL,
    detail        TEXT NOT NULL,
    policy        TEXT NOT NULL,
    remember      BIGINT NOT NULL,
    quorum        BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    state         TEXT NOT NULL,
    resolved_at   BIGINT NOT NULL DEFAULT 0,
    resolved_by   TEXT NOT NULL DEFAULT '',
    resolve_reason TEXT NOT NULL DEFAULT '',
    remembered    TEXT NOT NULL DEFAULT '',
    answers       TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_principal ON approvals (principal, state, created_at);
CREATE INDEX approvals_task ON approvals (task) WHERE task <> '';
CREATE INDEX approvals_conversation ON approvals (conversation) WHERE conversation <> '';

-- Those who said yes while more are needed.
CREATE TABLE approval_votes (
    approval TEXT NOT NULL REFERENCES approvals (id),
    voter    TEXT NOT NULL,
    name     TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (approval, voter)
);
