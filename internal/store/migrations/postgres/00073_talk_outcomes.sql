-- +goose Up

-- How the turn ended whose last words a message is: complete, cut, cancelled, interrupted or failed, and why. Empty
-- for all other messages, and for those from before.
ALTER TABLE talk_messages ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE talk_messages ADD COLUMN outcome_code TEXT NOT NULL DEFAULT '';

-- How many parts of a running turn are messages already: its text so far, which is kept about once a second, is of the
-- part behind them.
ALTER TABLE talk_runs ADD COLUMN parts BIGINT NOT NULL DEFAULT 0;
