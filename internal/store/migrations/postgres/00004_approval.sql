-- +goose Up

-- A question to a person before something happens. Only a pending row changes,
-- and only once. "changed" is the clock's value at its last change.
CREATE TABLE approvals (
    id             TEXT PRIMARY KEY,
    principal      TEXT NOT NULL,
    kind           TEXT NOT NULL,
    title          TEXT NOT NULL,
    tool           TEXT NOT NULL,
    arguments      TEXT NOT NULL,
    digest         TEXT NOT NULL,
    target         TEXT NOT NULL,
    reason         TEXT NOT NULL,
    requested_by   TEXT NOT NULL,
    on_behalf_of   TEXT NOT NULL,
    asking_token   TEXT NOT NULL,
    task           TEXT NOT NULL,
    conversation   TEXT NOT NULL,
    questions      TEXT NOT NULL,
    policy         TEXT NOT NULL,
    may_remember   BIGINT NOT NULL,
    quorum         BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    changed        BIGINT NOT NULL,
    state          TEXT NOT NULL,
    resolved_at    BIGINT NOT NULL DEFAULT 0,
    resolved_by    TEXT NOT NULL DEFAULT '',
    resolve_reason TEXT NOT NULL DEFAULT '',
    remembered     TEXT NOT NULL DEFAULT '',
    answers        TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX approvals_due ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_inbox ON approvals (principal, state, created_at);
CREATE INDEX approvals_changed ON approvals (changed);
CREATE INDEX approvals_task ON approvals (task) WHERE task <> '';
CREATE INDEX approvals_conversation ON approvals (conversation) WHERE conversation <> '';

-- Further people who see it and may answer.
CREATE TABLE approval_people (
    person   TEXT NOT NULL,
    approval TEXT NOT NULL,
    PRIMARY KEY (person, approval)
);

-- Those who said yes while more are needed.
CREATE TABLE approval_votes (
    approval TEXT NOT NULL,
    voter    TEXT NOT NULL,
    name     TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (approval, voter)
);

-- Numbers every change in commit order, so that nobody who follows misses one.
CREATE TABLE approval_clock (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    seq BIGINT NOT NULL
);
INSERT INTO approval_clock (one, seq) VALUES (1, 0);
