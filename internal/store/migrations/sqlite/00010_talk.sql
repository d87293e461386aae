-- +goose Up

CREATE TABLE talk_conversations (
    num         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    agent       TEXT NOT NULL,
    sender      TEXT NOT NULL,
    thread      TEXT NOT NULL,
    number      BIGINT NOT NULL,
    title       TEXT NOT NULL,
    messages    BIGINT NOT NULL,
    last_seq    BIGINT NOT NULL,
    window_from BIGINT NOT NULL,
    archive     TEXT NOT NULL,
    hidden      BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    first_at    BIGINT NOT NULL,
    last_at     BIGINT NOT NULL,
    loaded_at   BIGINT NOT NULL DEFAULT 0,
    UNIQUE (agent, sender, thread)
);
CREATE INDEX talk_conversations_last ON talk_conversations (last_at);

-- Texts are bytes: they are kept exactly, and PostgreSQL's text knows no NUL.
CREATE TABLE talk_messages (
    conversation BIGINT NOT NULL,
    seq          BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    run          TEXT NOT NULL,
    role         TEXT NOT NULL,
    agent        TEXT NOT NULL,
    text         BLOB NOT NULL,
    reasoning    BLOB NOT NULL,
    signature    TEXT NOT NULL,
    calls        TEXT NOT NULL,
    call_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    is_error     BIGINT NOT NULL,
    interrupted  BIGINT NOT NULL,
    usage        TEXT NOT NULL,
    PRIMARY KEY (conversation, seq)
) WITHOUT ROWID;

CREATE TABLE talk_archives (
    id           TEXT PRIMARY KEY,
    conversation BIGINT NOT NULL,
    title        TEXT NOT NULL,
    summary      TEXT NOT NULL,
    archived_at  TEXT NOT NULL,
    from_seq     BIGINT NOT NULL,
    to_seq       BIGINT NOT NULL,
    messages     BIGINT NOT NULL,
    model        TEXT NOT NULL,
    usage        TEXT NOT NULL,
    automatic    BIGINT NOT NULL,
    focus        TEXT NOT NULL
);
CREATE INDEX talk_archives_of ON talk_archives (conversation, to_seq);

CREATE TABLE talk_notes (
    agent  TEXT NOT NULL,
    sender TEXT NOT NULL,
    name   TEXT NOT NULL,
    text   TEXT NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (agent, sender, name)
);

-- Turns and compactions that wait for their conversation.
CREATE TABLE talk_queue (
    run          TEXT PRIMARY KEY,
    conversation BIGINT NOT NULL,
    place        BIGINT NOT NULL,
    payload      BLOB NOT NULL,
    at           BIGINT NOT NULL
);
CREATE INDEX talk_queue_of ON talk_queue (conversation, place);

CREATE TABLE talk_runs (
    id           TEXT PRIMARY KEY,
    conversation BIGINT NOT NULL,
    speaker      TEXT NOT NULL,
    turn_key     TEXT NOT NULL,
    started_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL,
    user_seq     BIGINT NOT NULL,
    stop         BIGINT NOT NULL,
    error        TEXT NOT NULL,
    text         BLOB NOT NULL,
    provider     TEXT NOT NULL,
    model        TEXT NOT NULL,
    usage        TEXT NOT NULL
);
CREATE INDEX talk_runs_of ON talk_runs (conversation, ended_at);
CREATE INDEX talk_runs_open ON talk_runs (conversation) WHERE ended_at = 0;
CREATE INDEX talk_runs_key ON talk_runs (conversation, turn_key) WHERE turn_key <> '';

-- What can be found. Ranking looks at thousands of these rows, so the texts are
-- kept apart.
CREATE TABLE talk_docs (
    id           INTEGER PRIMARY KEY,
    kind         TEXT NOT NULL,
    class        BIGINT NOT NULL,
    conversation BIGINT NOT NULL,
    agent        TEXT NOT NULL,
    sender       TEXT NOT NULL,
    ref          TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    size         BIGINT NOT NULL
);
CREATE INDEX talk_docs_of ON talk_docs (conversation, kind, ref);
CREATE INDEX talk_docs_pair ON talk_docs (agent, sender, kind, ref);

-- Their texts, normalised; fts_talk is made from it.
CREATE TABLE talk_texts (
    id    INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    text  TEXT NOT NULL
);

CREATE VIRTUAL TABLE fts_talk USING fts5 (
    scope, text, content = 'talk_texts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

-- Turns that come by themselves.
CREATE TABLE talk_schedules (
    id          INTEGER PRIMARY KEY,
    schedule    TEXT NOT NULL,
    skill       TEXT NOT NULL,
    agent       TEXT NOT NULL,
    sender      TEXT NOT NULL,
    thread      TEXT NOT NULL,
    quiet_start TEXT NOT NULL,
    quiet_end   TEXT NOT NULL,
    once        BIGINT NOT NULL,
    next_at     BIGINT NOT NULL,
    last_error  TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
