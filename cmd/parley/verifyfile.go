package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"

	"parley/client/hubapi"
	"parley/internal/audit"
)

// verifyFile checks an exported trail without any hub.
func verifyFile(name, key string, kept []audit.Kept) (hubapi.AuditReport, error) {
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
	r, err := audit.VerifyExport(f, trusted, kept...)
	if err != nil {
		return hubapi.AuditReport{}, err
	}
	// The report reads the same whoever made it.
	text, err := json.Marshal(r)
	if err != nil {
		return hubapi.AuditReport{}, err
	}
	var out hubapi.AuditReport
	err = json.Unmarshal(text, &out)
	return out, err
}
