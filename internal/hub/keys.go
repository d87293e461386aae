package hub

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"parley.internal/internal/bus"
	"parley.internal/internal/seal"
	"parley.internal/internal/store"
)

// hubKey reads the hub's Ed25519 key; nil if there is none yet. A file that is
// damaged is an error: silently making another would break every trust others
// have in this hub.
func hubKey(f Folder) (ed25519.PrivateKey, error) {
	data, err := os.ReadFile(f.Path(hubKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the hub's key: %w", err)
	}
	key, err := parseKey(string(data))
	if err != nil {
		return nil, fmt.Errorf("the hub's key %s is damaged: restore it from a backup", f.Path(hubKeyFile))
	}
	return key, nil
}

func parseKey(text string) (ed25519.PrivateKey, error) {
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("not a key")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func formatKey(key ed25519.PrivateKey) string { return base64.StdEncoding.EncodeToString(key.Seed()) }

// openKey reads the key or makes it on the first start. Hubs on one PostgreSQL
// are one hub to the world and sign with one key: the first leaves it in the
// database, the others take it from there, and one that has another is refused.
func (h *Hub) openKey(ctx context.Context) error {
	mine, err := hubKey(h.folder)
	if err != nil {
		return err
	}
	key := mine
	if key == nil {
		if _, key, err = ed25519.GenerateKey(rand.Reader); err != nil {
			return err
		}
	}
	if h.db.Dialect() == store.Postgres {
		if key, err = h.sharedKey(ctx, key); err != nil {
			return err
		}
		if mine != nil && !mine.Equal(key) {
			return fmt.Errorf("this data folder's key is not the one of the hubs on %s: start it with an empty --data, or restore the right keys/hub.key", h.db)
		}
	}
	h.key = key
	if mine != nil {
		return nil
	}
	return h.folder.WriteSecret(hubKeyFile, []byte(formatKey(key)+"\n"))
}

// sharedKey is the cluster's key: what stands in the database, or the offer if
// nothing does.
func (h *Hub) sharedKey(ctx context.Context, offer ed25519.PrivateKey) (ed25519.PrivateKey, error) {
	secret := []byte(h.conf.KeySecret)
	left, err := lockKey(formatKey(offer), secret)
	if err != nil {
		return nil, err
	}
	found, err := sharedSetting(ctx, h.db, hubKeyName, left)
	if err != nil {
		return nil, err
	}
	text, err := unlockKey(found, secret)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(text)
	if err != nil || found != text || len(secret) == 0 {
		return key, err
	}
	// It was left there before there was a secret to lock it with.
	if left, err = lockKey(text, secret); err != nil {
		return nil, err
	}
	return key, h.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE settings SET value = ? WHERE name = ? AND value = ?`, left, hubKeyName, found)
		return err
	})
}

// hubKeyName is the setting with the key that the hubs on one database sign with. With
// key_secret it is locked: who reads the database, or a dump of it, does not have the key.
const (
	hubKeyName = "hub_key"
	lockedKey  = "sealed:"
)

func lockKey(text string, secret []byte) (string, error) {
	if len(secret) == 0 {
		return text, nil
	}
	file, err := seal.Seal([]byte(text), secret)
	return lockedKey + base64.StdEncoding.EncodeToString(file), err
}

// unlockKey reads what lockKey left, or somebody without a secret.
func unlockKey(found string, secret []byte) (string, error) {
	rest, locked := strings.CutPrefix(found, lockedKey)
	if !locked {
		return found, nil
	}
	if len(secret) == 0 {
		return "", errors.New("the hub's key in the database is sealed: set key_secret to what the other hubs have")
	}
	file, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return "", fmt.Errorf("the hub's key in the database (settings, %s) is damaged: %w", hubKeyName, err)
	}
	text, err := seal.Open(file, secret)
	if errors.Is(err, seal.ErrPassphrase) {
		return "", errors.New("key_secret does not fit: give this hub the one that the others have")
	}
	return string(text), err
}

// busSecretName is the setting with the secret that seals messages between hubs.
const busSecretName = "bus_secret"

// busSecret is what the hubs on one database share and nobody else knows. It is a
// secret of its own: a signing key is for proving things to others, and who rotates
// one does not want to rotate the other.
func busSecret(ctx context.Context, db *store.DB) ([]byte, error) {
	offer := make([]byte, bus.SecretSize)
	if _, err := rand.Read(offer); err != nil {
		return nil, err
	}
	text, err := sharedSetting(ctx, db, busSecretName, base64.StdEncoding.EncodeToString(offer))
	if err != nil {
		return nil, err
	}
	return parseBusSecret(text)
}

func parseBusSecret(text string) ([]byte, error) {
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(secret) < bus.SecretSize {
		return nil, fmt.Errorf("the secret between hubs (settings, %s) is damaged: stop all hubs and delete it, and the first one makes another", busSecretName)
	}
	return secret, nil
}

// sharedSetting is what stands in the database, or the offer if nothing does: the
// first hub's word holds for all.
func sharedSetting(ctx context.Context, db *store.DB, name, offer string) (value string, err error) {
	err = db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, name, offer); err != nil {
			return err
		}
		return tx.QueryRow(`SELECT value FROM settings WHERE name = ?`, name).Scan(&value)
	})
	return value, err
}

func trimSpace(b []byte) []byte { return bytes.TrimSpace(b) }
