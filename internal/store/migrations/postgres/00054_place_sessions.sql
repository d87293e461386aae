-- +goose Up

-- A copied signature could open a session in another agent's name. All of them end
-- here; agents register again by themselves.
DELETE FROM place_tokens;
