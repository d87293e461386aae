package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"

	"parley/client/hubapi"
	"parley/internal/audit"
)

// verifyFile checks an exported trail without any hub.
func verifyFile(name, key string) (hubapi.AuditReport, error) {
	var trusted []ed25519.PublicKey
	if key != "" {
		raw, err := base64.StdEncoding.DecodeString(key)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return hubapi.AuditReport{}, usageError("--key is not a public key in base64; 'parley status --json' shows the hub's")
		}
		trusted = append(trusted, raw)
	}
	f, err := os.Open(name)
	if err != nil {
		return hubapi.AuditReport{}, err
	}
	defer func() { _ = f.Close() }()
	r, err := audit.VerifyExport(f, trusted)
	return hubapi.AuditReport{OK: r.OK, Entries: r.Entries, Checkpoints: r.Checkpoints, Problem: r.Problem, BadSeq: r.BadSeq}, err
}
