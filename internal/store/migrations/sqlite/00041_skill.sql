-- +goose Up

-- Every message an agent of this hub was told or said, with what it came to: a
-- repeated one gets the same answer and has no second effect.
CREATE TABLE skill_messages (
    me       TEXT NOT NULL,
    peer     TEXT NOT NULL,
    id       TEXT NOT NULL,
    outgoing BIGINT NOT NULL,
    auto     BIGINT NOT NULL,
    action   TEXT NOT NULL,
    level    TEXT NOT NULL,
    direct   BIGINT NOT NULL,
    note     TEXT NOT NULL,
    result   TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (me, peer, id, outgoing)
);
CREATE INDEX skill_messages_recent ON skill_messages (me, peer, at);
CREATE INDEX skill_messages_age ON skill_messages (at);

CREATE TABLE skill_peers (
    me            TEXT NOT NULL,
    peer          TEXT NOT NULL,
    key_id        TEXT NOT NULL,
    changed_key   TEXT NOT NULL,
    extensions    TEXT NOT NULL,
    introduced_at BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL,
    PRIMARY KEY (me, peer)
);

-- One skill on its way, seen from one side. The content of an offer is kept as it
-- was when it was offered.
CREATE TABLE skill_exchanges (
    id         TEXT PRIMARY KEY,
    me         TEXT NOT NULL,
    agent      TEXT NOT NULL,
    peer       TEXT NOT NULL,
    place      TEXT NOT NULL,
    side       TEXT NOT NULL,
    state      TEXT NOT NULL,
    relayed    BIGINT NOT NULL,
    level      TEXT NOT NULL,
    skill_id   TEXT NOT NULL,
    skill_name TEXT NOT NULL,
    summary    TEXT NOT NULL,
    format     TEXT NOT NULL,
    hash       TEXT NOT NULL,
    opening    TEXT NOT NULL,
    opened     TEXT NOT NULL,
    accepting  TEXT NOT NULL,
    content    TEXT NOT NULL,
    provenance TEXT NOT NULL,
    item       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    deadline   BIGINT NOT NULL
);
CREATE INDEX skill_exchanges_opening ON skill_exchanges (me, peer, opening);
CREATE INDEX skill_exchanges_due ON skill_exchanges (deadline);

-- What came from outside: waiting, in use, refused or taken back.
CREATE TABLE skill_items (
    id          TEXT PRIMARY KEY,
    me          TEXT NOT NULL,
    agent       TEXT NOT NULL,
    name        TEXT NOT NULL,
    title       TEXT NOT NULL,
    sender      TEXT NOT NULL,
    place       TEXT NOT NULL,
    key_id      TEXT NOT NULL,
    level       TEXT NOT NULL,
    format      TEXT NOT NULL,
    hash        TEXT NOT NULL,
    content     TEXT NOT NULL,
    size        BIGINT NOT NULL,
    provenance  TEXT NOT NULL,
    verified    TEXT NOT NULL,
    findings    TEXT NOT NULL,
    state       TEXT NOT NULL,
    approval    TEXT NOT NULL,
    unsolicited BIGINT NOT NULL,
    public      BIGINT NOT NULL,
    exchange    TEXT NOT NULL,
    message     TEXT NOT NULL,
    file        TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    decided_at  BIGINT NOT NULL,
    decided_by  TEXT NOT NULL,
    reason      TEXT NOT NULL
);
CREATE INDEX skill_items_state ON skill_items (state, me);
CREATE INDEX skill_items_sender ON skill_items (me, sender, state);

CREATE TABLE skill_refused (
    me    TEXT NOT NULL,
    hash  TEXT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (me, hash)
);

-- Messages on their way out; gone when the place has them.
CREATE TABLE skill_outbox (
    id         TEXT PRIMARY KEY,
    seq        BIGINT NOT NULL,
    me         TEXT NOT NULL,
    place      TEXT NOT NULL,
    peer       TEXT NOT NULL,
    action     TEXT NOT NULL,
    message    TEXT NOT NULL,
    attempts   BIGINT NOT NULL,
    next_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    problem    TEXT NOT NULL
);
CREATE INDEX skill_outbox_due ON skill_outbox (me, next_at);

-- Discussions and negotiations.
CREATE TABLE skill_threads (
    me        TEXT NOT NULL,
    id        TEXT NOT NULL,
    agent     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    peer      TEXT NOT NULL,
    place     TEXT NOT NULL,
    state     TEXT NOT NULL,
    body      TEXT NOT NULL,
    approval  TEXT NOT NULL,
    active_at BIGINT NOT NULL,
    PRIMARY KEY (me, id)
);

-- Extensions proposed by others. Only a promoted one counts.
CREATE TABLE skill_extensions (
    me         TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    hash       TEXT NOT NULL,
    state      TEXT NOT NULL,
    sender     TEXT NOT NULL,
    content    TEXT NOT NULL,
    actions    TEXT NOT NULL,
    provenance TEXT NOT NULL,
    findings   TEXT NOT NULL,
    approval   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    message    TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    deadline   BIGINT NOT NULL,
    PRIMARY KEY (me, name, hash)
);
