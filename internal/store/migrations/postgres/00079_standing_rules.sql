-- +goose Up

-- What a person lets an agent do without asking each time. The maker is who made it, as
-- JSON: it ends with their right. arguments is a pattern, reach the hosts, machines and
-- folders outside that it names, both JSON.
CREATE TABLE standing_rules (
    id         TEXT NOT NULL PRIMARY KEY,
    owner      TEXT NOT NULL,
    agent      TEXT NOT NULL,
    tool       TEXT NOT NULL,
    arguments  TEXT NOT NULL,
    folder     TEXT NOT NULL,
    reach      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    until_at   BIGINT NOT NULL,
    uses       BIGINT NOT NULL,
    used       BIGINT NOT NULL,
    used_at    BIGINT NOT NULL,
    question   TEXT NOT NULL,
    maker      TEXT NOT NULL
);
CREATE INDEX standing_rules_owner ON standing_rules (owner, agent, tool);
