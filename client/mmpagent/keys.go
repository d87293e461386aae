package mmpagent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"parley.internal/protocol/mmp"
)

// Keys are an agent's own. The zero value is an agent without any, which only the
// most trusting places let in.
type Keys struct {
	Path string
	Ring mmp.Keyring
}

// ID is the name the key gives its agent.
func (k Keys) ID() string {
	if k.Ring.RSA == nil {
		return ""
	}
	return k.Ring.RSA.Public().InstanceID()
}

// NewKeys makes keys that are not written anywhere.
func NewKeys() (Keys, error) {
	key, err := mmp.GenerateKey()
	if err != nil {
		return Keys{}, err
	}
	hpke, err := mmp.GenerateHPKE()
	return Keys{Ring: mmp.Keyring{RSA: key, HPKE: hpke}}, err
}

// CreateKeys makes keys and writes them: PATH (RSA, private), PATH.hpke (private)
// and PATH.pub. It never overwrites a key, not even one made at the same time.
func CreateKeys(path string) (Keys, error) {
	if _, err := os.Lstat(path); err == nil {
		return Keys{}, fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	keys, err := NewKeys()
	if err != nil {
		return keys, err
	}
	keys.Path = path
	return keys, keys.save()
}

// OpenKeys reads what CreateKeys wrote, or a key of another implementation; the
// passphrase is only needed for an encrypted one. Missing HPKE keys are made.
func OpenKeys(path string, passphrase []byte) (Keys, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Keys{}, err
	}
	key, err := mmp.ParsePrivateKey(text, passphrase)
	if err != nil {
		return Keys{}, fmt.Errorf("%s: %w", path, err)
	}
	keys := Keys{Path: path, Ring: mmp.Keyring{RSA: key}}
	text, err = os.ReadFile(path + ".hpke")
	switch {
	case errors.Is(err, os.ErrNotExist):
		if keys.Ring.HPKE, err = mmp.GenerateHPKE(); err != nil {
			return keys, err
		}
		return keys, keys.saveHPKE()
	case err != nil:
		return keys, err
	}
	keys.Ring.HPKE, err = mmp.ParseHPKEKeys(text)
	return keys, err
}

// save writes the files, the private ones for their owner alone. Whoever sees the RSA
// key finds the others.
func (k Keys) save() error {
	if err := k.saveHPKE(); err != nil {
		return err
	}
	if err := writeNew(k.Path, mmp.EncodePrivateKey(k.Ring.RSA), 0o600); err != nil {
		return err
	}
	return writeFile(k.Path+".pub", []byte(k.Ring.RSA.Public().PEM()), 0o644)
}

func (k Keys) saveHPKE() error {
	text, err := mmp.EncodeHPKEKeys(k.Ring.HPKE)
	if err != nil {
		return err
	}
	return writeFile(k.Path+".hpke", text, 0o600)
}

// Backup seals the RSA key with a passphrase. The legacy form is for other
// implementations only: it protects badly.
func (k Keys) Backup(passphrase []byte, legacy bool) ([]byte, error) {
	if k.Ring.RSA == nil {
		return nil, ErrUnsigned
	}
	if legacy {
		return mmp.EncodeLegacyBackup(k.Ring.RSA, passphrase)
	}
	return mmp.EncodeBackup(k.Ring.RSA, passphrase)
}

// RestoreKeys reads either backup form and writes the key to path, with fresh HPKE
// keys beside it. It never overwrites a key.
func RestoreKeys(path string, backup, passphrase []byte) (Keys, error) {
	if _, err := os.Lstat(path); err == nil {
		return Keys{}, fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	key, err := mmp.OpenBackup(backup, passphrase)
	if err != nil {
		return Keys{}, err
	}
	hpke, err := mmp.GenerateHPKE()
	if err != nil {
		return Keys{}, err
	}
	keys := Keys{Path: path, Ring: mmp.Keyring{RSA: key, HPKE: hpke}}
	return keys, keys.save()
}

// writeNew writes a file that must not exist, all of it or nothing.
func writeNew(path string, data []byte, mode os.FileMode) error {
	return writeBeside(path, data, mode, os.Link)
}

// writeFile replaces a file as a whole, never leaving half of it.
func writeFile(path string, data []byte, mode os.FileMode) error {
	return writeBeside(path, data, mode, os.Rename)
}

// writeBeside writes a file beside path and lets put bring it there.
func writeBeside(path string, data []byte, mode os.FileMode, put func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already when all went well
	if err := f.Chmod(mode); err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return put(f.Name(), path)
}
