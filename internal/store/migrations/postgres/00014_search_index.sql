-- +goose Up

-- Only the index of SQLite changes; PostgreSQL has its own.
SELECT 1;
