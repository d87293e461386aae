-- +goose Up

-- Agents of hubs that share this database, each as the text of its file.
CREATE TABLE brain_agents (
    name       TEXT PRIMARY KEY,
    file       TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);

-- Files that were taken over from a hub's folder, by SHA-256: a hub that starts
-- again must not bring an old file back.
CREATE TABLE brain_agent_imports (
    name   TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (name, digest)
);
