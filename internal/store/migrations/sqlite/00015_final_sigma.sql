-- +goose Up

-- Greek writes the last sigma of a word differently; searches do not care.
UPDATE talk_texts SET text = replace(text, 'ς', 'σ') WHERE instr(text, 'ς') > 0;
INSERT INTO fts_talk (fts_talk) VALUES ('rebuild');
