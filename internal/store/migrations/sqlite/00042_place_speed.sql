-- +goose Up

-- Messages without an index of their ids: an id says the number of its row.
CREATE TABLE place_messages_new (
    num          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL,
    sender       TEXT NOT NULL,
    recipient    TEXT NOT NULL,
    peer         TEXT NOT NULL,
    type         TEXT NOT NULL,
    hash         TEXT NOT NULL,
    size         BIGINT NOT NULL,
    proven       BIGINT NOT NULL,
    tracked      BIGINT NOT NULL,
    state        BIGINT NOT NULL,
    reason       TEXT NOT NULL,
    idem         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    attempt      BIGINT NOT NULL,
    next_at      BIGINT NOT NULL,
    blob         BLOB NOT NULL
);
INSERT INTO place_messages_new SELECT * FROM place_messages;
DROP TABLE place_messages;
ALTER TABLE place_messages_new RENAME TO place_messages;
CREATE INDEX place_messages_queue ON place_messages (recipient, num, expires_at, leased_until, state) WHERE state = 0;
CREATE INDEX place_messages_expiry ON place_messages (expires_at, state) WHERE state = 0;
CREATE INDEX place_messages_outbox ON place_messages (peer, next_at) WHERE state = 0 AND peer <> '';
CREATE UNIQUE INDEX place_messages_idem ON place_messages (sender, idem) WHERE idem <> '';
CREATE INDEX place_messages_sent ON place_messages (sender, num) WHERE tracked = 1;
CREATE INDEX place_messages_done ON place_messages (changed_at) WHERE state <> 0;

-- Nobody asked by it, and every registration wrote it.
DROP INDEX place_audit_agent;
