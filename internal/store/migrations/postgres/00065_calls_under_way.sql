-- +goose Up
-- Calls whose outcome is not known yet; few, and looked for when a hub has died.
CREATE INDEX fleet_calls_sent ON fleet_calls (hub) WHERE state = 'sent';
