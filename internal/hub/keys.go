package hub

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
)

// hubKey reads the hub's Ed25519 key, or makes it on the first start. A file
// that is damaged is an error: silently making another would break every trust
// others have in this hub.
func hubKey(f Folder) (ed25519.PrivateKey, error) {
	data, err := os.ReadFile(f.Path(hubKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return newHubKey(f)
	}
	if err != nil {
		return nil, fmt.Errorf("the hub's key: %w", err)
	}
	seed, err := base64.StdEncoding.DecodeString(string(trimSpace(data)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the hub's key %s is damaged: restore it from a backup", f.Path(hubKeyFile))
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func newHubKey(f Folder) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString(key.Seed())
	if err := f.WriteSecret(hubKeyFile, []byte(text+"\n")); err != nil {
		return nil, fmt.Errorf("writing the hub's key: %w", err)
	}
	return key, nil
}

func trimSpace(b []byte) []byte { return bytes.TrimSpace(b) }
