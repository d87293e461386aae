package endpoint

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"parley.internal/internal/durable"
	wire "parley.internal/protocol/kenny"
)

// keyFile holds the machine's seed: 32 raw bytes.
const keyFile = "key"

// prepareFolder makes the state folder. Everybody may pass through it to the
// switch's socket; nobody but us may list it, and every file is closed.
func prepareFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o711); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	return protectFolder(folder)
}

// LoadKey gives the machine's key. The first call makes it; a file that holds
// something else than a key is an error, because a new key would be a new
// machine.
func LoadKey(folder string) (ed25519.PrivateKey, error) {
	path := filepath.Join(folder, keyFile)
	seed, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	key, err := wire.KeyFromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("key file %s is %w and was left as it is: %w", path, ErrDamaged, err)
	}
	return key, nil
}

// makeKey writes a fresh seed. Of two that start at once the second finds the
// first's key.
func makeKey(path string) (ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	switch err := durable.Create(path, seed, 0o600); {
	case errors.Is(err, os.ErrExist):
		return LoadKey(filepath.Dir(path))
	case err != nil:
		return nil, fmt.Errorf("key: %w", err)
	}
	return wire.KeyFromSeed(seed)
}

// replaceFile replaces a note in one step. It need not survive a power cut, and
// must not keep its caller waiting for the disk.
func replaceFile(path string, data []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
