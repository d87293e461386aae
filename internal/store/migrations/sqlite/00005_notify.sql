-- +goose Up

-- Browsers that want to be told when the page is closed. Each ends with the page
-- session it was made in.
CREATE TABLE push_subscriptions (
    endpoint   TEXT PRIMARY KEY,
    person     TEXT NOT NULL,
    page       TEXT NOT NULL,
    p256dh     TEXT NOT NULL,
    auth       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX push_subscriptions_person ON push_subscriptions (person);

-- What is to be told, once per target, whichever hub notices first. A row stays
-- until it expires, so that nobody tells it again.
CREATE TABLE notices (
    id         TEXT NOT NULL,
    target     TEXT NOT NULL,
    body       TEXT NOT NULL,
    due        BIGINT NOT NULL,
    tries      BIGINT NOT NULL DEFAULT 0,
    done       BIGINT NOT NULL DEFAULT 0,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (id, target)
);
CREATE INDEX notices_due ON notices (due) WHERE done = 0;
CREATE INDEX notices_expires ON notices (expires_at);
