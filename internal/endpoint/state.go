package endpoint

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	wire "parley/protocol/kenny"
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

// makeKey writes a fresh seed. A link keeps two that start at once from
// overwriting each other: the second finds the first's key.
func makeKey(path string) (ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	tmp, err := privateTemp(filepath.Dir(path), seed)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	defer func() { _ = os.Remove(tmp) }()
	if err := os.Link(tmp, path); err != nil {
		if errors.Is(err, os.ErrExist) {
			return LoadKey(filepath.Dir(path))
		}
		return nil, fmt.Errorf("key: %w", err)
	}
	return wire.KeyFromSeed(seed)
}

// privateTemp writes a file only we can read and has it on disk.
func privateTemp(folder string, data []byte) (string, error) {
	f, err := os.CreateTemp(folder, ".new-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
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

// writeFile replaces a file in one step, on disk before it counts.
func writeFile(path string, data []byte) error {
	tmp, err := privateTemp(filepath.Dir(path), data)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return nil
}
