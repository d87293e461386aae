-- +goose Up

-- What each credential was made with: 'token:ID' or 'passkey:ID', empty for the
-- hub itself. It ends when that ends. Of what exists already the maker is
-- unknown and counts as the hub, except for pages, which know their token.
ALTER TABLE tokens ADD COLUMN maker TEXT NOT NULL DEFAULT '';
ALTER TABLE login_links ADD COLUMN maker TEXT NOT NULL DEFAULT '';
ALTER TABLE page_sessions ADD COLUMN maker TEXT NOT NULL DEFAULT '';
ALTER TABLE passkeys ADD COLUMN maker TEXT NOT NULL DEFAULT '';
UPDATE page_sessions SET maker = 'token:' || token WHERE token <> '';

-- When a passkey's maker ends at the latest; 0 is never.
ALTER TABLE passkeys ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;

CREATE INDEX tokens_maker ON tokens (maker) WHERE maker <> '';
CREATE INDEX login_links_maker ON login_links (maker) WHERE maker <> '';
CREATE INDEX page_sessions_maker ON page_sessions (maker) WHERE maker <> '';
CREATE INDEX passkeys_maker ON passkeys (maker) WHERE maker <> '';
