-- +goose Up

-- Hubs that share a database ask it which messages wait where: its indices stay. In
-- SQLite two of them went.
SELECT 1;
