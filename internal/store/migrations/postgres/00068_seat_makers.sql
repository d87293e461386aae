-- +goose Up

-- Who seated an agent in a room, as JSON: it acts there for them, with at most what they
-- had then and have now, and goes when their right ends. Of what exists already that is
-- unknown: it sits and speaks, and can do nothing else.
ALTER TABLE room_seats ADD COLUMN maker TEXT NOT NULL DEFAULT '';
