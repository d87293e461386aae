-- +goose Up

-- What an agent spent on a UTC day (YYYY-MM-DD); cost is in millionths of a US dollar.
CREATE TABLE brain_spend (
    agent       TEXT NOT NULL,
    day         TEXT NOT NULL,
    tokens      BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (agent, day)
);
