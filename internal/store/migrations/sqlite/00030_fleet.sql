-- +goose Up

-- fold is the id in small letters: two ids that differ only in case are refused.
-- state is never, online, off (said goodbye) or cut; hub and epoch are whose word that is.
CREATE TABLE fleet_machines (
    id           TEXT PRIMARY KEY,
    fold         TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    tags         TEXT NOT NULL,
    mobile       BIGINT NOT NULL,
    meta         TEXT NOT NULL,
    thresholds   TEXT NOT NULL,
    maintenance  TEXT NOT NULL,
    mutes        TEXT NOT NULL,
    alerts       TEXT NOT NULL,
    state        TEXT NOT NULL,
    hub          TEXT NOT NULL,
    epoch        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    removed_at   BIGINT NOT NULL,
    connected_at BIGINT NOT NULL,
    last_seen    BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL
);
CREATE INDEX fleet_machines_changed ON fleet_machines (changed_at);

-- A key is valid while until is 0 or in the future, and revoked_at is 0.
CREATE TABLE fleet_keys (
    machine    TEXT NOT NULL,
    public_key TEXT NOT NULL,
    since      BIGINT NOT NULL,
    until      BIGINT NOT NULL,
    proved_at  BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL,
    PRIMARY KEY (machine, public_key)
);
CREATE INDEX fleet_keys_key ON fleet_keys (public_key);

CREATE TABLE fleet_enrol (
    hash       TEXT PRIMARY KEY,
    machine    TEXT NOT NULL,
    rekey      BIGINT NOT NULL,
    grace      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    voided_at  BIGINT NOT NULL,
    used_at    BIGINT NOT NULL,
    used_key   TEXT NOT NULL
);
CREATE INDEX fleet_enrol_of ON fleet_enrol (machine);

CREATE TABLE fleet_legacy (
    hash       TEXT PRIMARY KEY,
    machine    TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    proved_at  BIGINT NOT NULL
);
CREATE INDEX fleet_legacy_of ON fleet_legacy (machine);

-- One-time and short-lived addresses; kind is install or download.
CREATE TABLE fleet_links (
    hash       TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    machine    TEXT NOT NULL,
    detail     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL
);

CREATE TABLE fleet_rules (
    id         TEXT PRIMARY KEY,
    applies_to TEXT NOT NULL,
    pattern    TEXT NOT NULL,
    reason     TEXT NOT NULL,
    revision   BIGINT NOT NULL
);

CREATE TABLE fleet_counters (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);

-- Snapshots are zstd of the JSON object.
CREATE TABLE fleet_latest (
    machine      TEXT PRIMARY KEY,
    received_at  BIGINT NOT NULL,
    collected_at BIGINT NOT NULL,
    clock_off    BIGINT NOT NULL,
    snapshot     BLOB NOT NULL,
    verdict      TEXT NOT NULL
);

CREATE TABLE fleet_snapshots (
    machine      TEXT NOT NULL,
    received_at  BIGINT NOT NULL,
    collected_at BIGINT NOT NULL,
    snapshot     BLOB NOT NULL,
    PRIMARY KEY (machine, received_at)
);
CREATE INDEX fleet_snapshots_at ON fleet_snapshots (received_at);

-- span is 0 for a value as it came, 1 for a day: value is its mean over n.
CREATE TABLE fleet_series (
    machine TEXT NOT NULL,
    metric  TEXT NOT NULL,
    label   TEXT NOT NULL,
    span    BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    value   DOUBLE PRECISION NOT NULL,
    low     DOUBLE PRECISION NOT NULL,
    high    DOUBLE PRECISION NOT NULL,
    n       BIGINT NOT NULL,
    PRIMARY KEY (machine, metric, label, span, at)
) WITHOUT ROWID;
CREATE INDEX fleet_series_at ON fleet_series (span, metric, at);

CREATE TABLE fleet_events (
    seq     INTEGER PRIMARY KEY,
    at      BIGINT NOT NULL,
    sent_at BIGINT NOT NULL,
    machine TEXT NOT NULL,
    source  TEXT NOT NULL,
    kind    TEXT NOT NULL,
    level   BIGINT NOT NULL,
    target  TEXT NOT NULL,
    message TEXT NOT NULL,
    fields  TEXT NOT NULL
);
CREATE INDEX fleet_events_of ON fleet_events (machine, seq);
CREATE INDEX fleet_events_at ON fleet_events (at);

CREATE TABLE fleet_calls (
    id            TEXT PRIMARY KEY,
    at            BIGINT NOT NULL,
    machine       TEXT NOT NULL,
    tool          TEXT NOT NULL,
    class         TEXT NOT NULL,
    actor         TEXT NOT NULL,
    on_behalf     TEXT NOT NULL,
    surface       TEXT NOT NULL,
    token_id      TEXT NOT NULL,
    address       TEXT NOT NULL,
    hub           TEXT NOT NULL,
    digest        TEXT NOT NULL,
    args          TEXT NOT NULL,
    approval      TEXT NOT NULL,
    state         TEXT NOT NULL,
    code          TEXT NOT NULL,
    message       TEXT NOT NULL,
    exit_code     TEXT NOT NULL,
    duration      BIGINT NOT NULL,
    queued        BIGINT NOT NULL,
    result_size   BIGINT NOT NULL,
    result_digest TEXT NOT NULL
);
CREATE INDEX fleet_calls_of ON fleet_calls (machine, at);
CREATE INDEX fleet_calls_at ON fleet_calls (at);

-- Calls that outlive their request: those that wait for a person or for their machine.
CREATE TABLE fleet_queue (
    place       INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    machine     TEXT NOT NULL,
    tool        TEXT NOT NULL,
    class       TEXT NOT NULL,
    args        TEXT NOT NULL,
    timeout     BIGINT NOT NULL,
    queue_for   BIGINT NOT NULL,
    caller      TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    approval    TEXT NOT NULL,
    state       TEXT NOT NULL,
    code        TEXT NOT NULL,
    message     TEXT NOT NULL,
    result      BLOB NOT NULL,
    hub         TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    finished_at BIGINT NOT NULL
);
CREATE INDEX fleet_queue_of ON fleet_queue (machine, state, place);
CREATE INDEX fleet_queue_state ON fleet_queue (state, expires_at);

CREATE TABLE fleet_rollouts (
    id         TEXT PRIMARY KEY,
    version    TEXT NOT NULL,
    state      TEXT NOT NULL,
    wave       BIGINT NOT NULL,
    reason     TEXT NOT NULL,
    by_whom    TEXT NOT NULL,
    caller     TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- rollout is empty for the update of a single machine.
CREATE TABLE fleet_updates (
    id           TEXT PRIMARY KEY,
    rollout      TEXT NOT NULL,
    wave         BIGINT NOT NULL,
    machine      TEXT NOT NULL,
    version      TEXT NOT NULL,
    from_version TEXT NOT NULL,
    state        TEXT NOT NULL,
    error        TEXT NOT NULL,
    at           BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL
);
CREATE INDEX fleet_updates_of ON fleet_updates (machine, state);
CREATE INDEX fleet_updates_rollout ON fleet_updates (rollout);

CREATE TABLE fleet_binaries (
    platform  TEXT NOT NULL,
    version   TEXT NOT NULL,
    sha256    TEXT NOT NULL,
    size      BIGINT NOT NULL,
    signature TEXT NOT NULL,
    key       TEXT NOT NULL,
    upload    TEXT NOT NULL,
    added_at  BIGINT NOT NULL,
    PRIMARY KEY (platform, version)
);

CREATE TABLE fleet_binary_parts (
    upload TEXT NOT NULL,
    n      BIGINT NOT NULL,
    data   BLOB NOT NULL,
    PRIMARY KEY (upload, n)
);

CREATE TABLE fleet_screens (
    machine TEXT NOT NULL,
    n       BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    by_whom TEXT NOT NULL,
    width   BIGINT NOT NULL,
    height  BIGINT NOT NULL,
    call_id TEXT NOT NULL,
    png     BLOB NOT NULL,
    PRIMARY KEY (machine, n)
);
