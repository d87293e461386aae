-- +goose Up

-- A folder of one person that the agents of another may use. The maker is who gave it, as
-- JSON: it ends with their right. The folder is a path in the owner's own.
CREATE TABLE workspace_grants (
    id         TEXT NOT NULL PRIMARY KEY,
    owner      TEXT NOT NULL,
    person     TEXT NOT NULL,
    folder     TEXT NOT NULL,
    read_only  BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    until_at   BIGINT NOT NULL,
    maker      TEXT NOT NULL
);
CREATE INDEX workspace_grants_person ON workspace_grants (person);
CREATE INDEX workspace_grants_owner ON workspace_grants (owner);
