-- +goose Up

-- Nobody asked by it, and every registration wrote it.
DROP INDEX place_audit_agent;
