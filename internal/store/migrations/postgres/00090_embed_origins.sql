-- +goose Up

-- Websites whose pages may show this hub's rooms, beside those of the setting.
CREATE TABLE embed_origins (
    origin  TEXT NOT NULL PRIMARY KEY,
    by_whom TEXT NOT NULL,
    at      BIGINT NOT NULL
);
