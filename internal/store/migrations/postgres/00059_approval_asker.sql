-- +goose Up

-- Who asked and how they came here, as JSON: the person, the token, page, device or
-- MCP client, and since when words of strangers were in the run.
ALTER TABLE approvals ADD COLUMN asked TEXT NOT NULL DEFAULT '{}';
UPDATE approvals SET asked = '{"asker":{"via":{"token":"' || asking_token || '"}}}' WHERE asking_token <> '';
ALTER TABLE approvals DROP COLUMN asking_token;
