-- +goose Up

-- Who is here. Soft state: times are written behind.
CREATE TABLE place_agents (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    description   TEXT NOT NULL,
    scope         TEXT NOT NULL,
    capabilities  TEXT NOT NULL,
    endpoint      TEXT NOT NULL,
    metadata      TEXT NOT NULL,
    verified      BIGINT NOT NULL,
    ttl           BIGINT NOT NULL,
    registered_at BIGINT NOT NULL,
    last_seen     BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX place_agents_order ON place_agents (registered_at, id);
CREATE INDEX place_agents_expiry ON place_agents (expires_at);

-- An agent's key, exactly as it was registered. A proven one is a pin: it outlives
-- the registration and is never replaced without proof.
CREATE TABLE place_keys (
    agent         TEXT PRIMARY KEY,
    pem           BLOB NOT NULL,
    key_id        TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    previous      TEXT NOT NULL,
    entry         TEXT NOT NULL,
    entry_sig     TEXT NOT NULL,
    proof         TEXT NOT NULL,
    registered_at BIGINT NOT NULL,
    changed_at    BIGINT NOT NULL,
    proven_at     BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE place_tokens (
    hash       TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    key_id     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX place_tokens_agent ON place_tokens (agent, created_at);
CREATE INDEX place_tokens_expiry ON place_tokens (expires_at);

-- What may be used once: challenges, and the nonces of calls between places.
CREATE TABLE place_nonces (
    nonce      TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX place_nonces_expiry ON place_nonces (expires_at);

CREATE TABLE place_postings (
    id         TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    type       TEXT NOT NULL,
    skill_name TEXT NOT NULL,
    summary    TEXT NOT NULL,
    format     TEXT NOT NULL,
    tags       TEXT NOT NULL,
    metadata   TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX place_postings_agent ON place_postings (agent, created_at);
CREATE INDEX place_postings_order ON place_postings (created_at, id);
CREATE INDEX place_postings_expiry ON place_postings (expires_at);

CREATE TABLE place_needs (
    agent      TEXT PRIMARY KEY,
    agent_name TEXT NOT NULL,
    agent_mode TEXT NOT NULL,
    needs      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE place_deposits (
    owner        TEXT NOT NULL,
    skill_id     TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT NOT NULL,
    tags         TEXT NOT NULL,
    format       TEXT NOT NULL,
    content      TEXT NOT NULL,
    hash         TEXT NOT NULL,
    signature    TEXT NOT NULL,
    summary      TEXT NOT NULL,
    input_output TEXT NOT NULL,
    provenance   TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (owner, skill_id)
) WITHOUT ROWID;
CREATE INDEX place_deposits_skill ON place_deposits (skill_id);
CREATE INDEX place_deposits_order ON place_deposits (updated_at);

CREATE TABLE place_attests (
    owner         TEXT NOT NULL,
    skill_id      TEXT NOT NULL,
    agent         TEXT NOT NULL,
    claim         TEXT NOT NULL,
    evidence_hash TEXT NOT NULL,
    signature     TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (owner, skill_id, agent, claim)
) WITHOUT ROWID;

-- Sealed messages. State 0 waits; a finished one keeps its fate, without its blob,
-- for a day if its sender may ask for it.
CREATE TABLE place_messages (
    num          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
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
CREATE INDEX place_messages_queue ON place_messages (recipient, num, expires_at, leased_until, state) WHERE state = 0;
CREATE INDEX place_messages_expiry ON place_messages (expires_at, state) WHERE state = 0;
CREATE INDEX place_messages_outbox ON place_messages (peer, next_at) WHERE state = 0 AND peer <> '';
CREATE UNIQUE INDEX place_messages_idem ON place_messages (sender, idem) WHERE idem <> '';
CREATE INDEX place_messages_sent ON place_messages (sender, num) WHERE tracked = 1;
CREATE INDEX place_messages_done ON place_messages (changed_at) WHERE state <> 0;

-- What each queue lost, so that nothing is lost silently.
CREATE TABLE place_dropped (
    agent TEXT PRIMARY KEY,
    count BIGINT NOT NULL,
    at    BIGINT NOT NULL
) WITHOUT ROWID;

-- Metadata of what happened, never content.
CREATE TABLE place_audit (
    seq    INTEGER PRIMARY KEY,
    at     BIGINT NOT NULL,
    event  TEXT NOT NULL,
    action TEXT NOT NULL,
    agent  TEXT NOT NULL,
    other  TEXT NOT NULL,
    ref    TEXT NOT NULL,
    kind   TEXT NOT NULL,
    size   BIGINT NOT NULL,
    hash   TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX place_audit_event ON place_audit (event, seq) WHERE event <> 'relay';
CREATE INDEX place_audit_agent ON place_audit (agent, seq) WHERE event <> 'relay';

-- Sums of the audit up to a number kept in place_meta.
CREATE TABLE place_hours (
    hour   BIGINT NOT NULL,
    event  TEXT NOT NULL,
    action TEXT NOT NULL,
    count  BIGINT NOT NULL,
    bytes  BIGINT NOT NULL,
    PRIMARY KEY (hour, event, action)
) WITHOUT ROWID;

CREATE TABLE place_hour_agents (
    hour  BIGINT NOT NULL,
    agent TEXT NOT NULL,
    PRIMARY KEY (hour, agent)
) WITHOUT ROWID;

-- Who sent how much to whom: the page's picture of the place.
CREATE TABLE place_edges (
    sender    TEXT NOT NULL,
    recipient TEXT NOT NULL,
    count     BIGINT NOT NULL,
    bytes     BIGINT NOT NULL,
    last_at   BIGINT NOT NULL,
    PRIMARY KEY (sender, recipient)
) WITHOUT ROWID;

CREATE TABLE place_meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Keys a person has looked at and trusts.
CREATE TABLE place_trust (
    key_id     TEXT PRIMARY KEY,
    address    TEXT NOT NULL,
    trusted_by TEXT NOT NULL,
    at         BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE place_peers (
    name     TEXT PRIMARY KEY,
    url      TEXT NOT NULL,
    key      TEXT NOT NULL,
    place_id TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    seen_at  BIGINT NOT NULL,
    problem  TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE place_remote (
    peer    TEXT NOT NULL,
    id      TEXT NOT NULL,
    agent   TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (peer, id)
) WITHOUT ROWID;
