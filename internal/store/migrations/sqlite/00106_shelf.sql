-- +goose Up
-- What a skill was said to be about stays with it when it is handed on. An agent on a visit may leave its public skills on the place's shelf.
ALTER TABLE skill_items ADD COLUMN summary TEXT NOT NULL DEFAULT '';
ALTER TABLE skill_items ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE skill_exchanges ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE skill_visits ADD COLUMN deposit BIGINT NOT NULL DEFAULT 0;
