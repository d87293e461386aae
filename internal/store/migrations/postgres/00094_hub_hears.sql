-- +goose Up

-- Whether a hub has no bus to hear others by (1), and since when one that has cannot hear
-- them (0: it can).
ALTER TABLE hubs ADD COLUMN apart   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hubs ADD COLUMN cut_off BIGINT NOT NULL DEFAULT 0;
