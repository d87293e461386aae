-- +goose Up

-- Who made a schedule, as JSON: it acts as them, with at most what they had then and have
-- when it fires. Of what exists already the maker is unknown: it speaks in its
-- conversation and can do nothing else.
ALTER TABLE talk_schedules ADD COLUMN maker TEXT NOT NULL DEFAULT '';
