-- +goose Up
-- An agent that is met at its own address: a visit with one other, and no place.
ALTER TABLE skill_visits ADD COLUMN peer TEXT NOT NULL DEFAULT '';
