package mmp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/x509"
	"fmt"

	"golang.org/x/crypto/argon2"
)

// BackupFormat names our key backup.
const BackupFormat = "parley-key-backup-1"

// The cost of guessing one passphrase, and the most an opened backup may ask
// for: the file is foreign until its passphrase has fitted.
const (
	backupTime    = 3
	backupMemory  = 64 << 10 // KiB
	backupThreads = 4
	maxTime       = 16
	maxMemory     = 1 << 20 // KiB
	maxThreads    = 16
	backupSalt    = 16
)

// backup is the file. The key id tells which key it is without the passphrase; it
// is authenticated with the rest.
type backup struct {
	Format     string `json:"format"`
	KeyID      string `json:"key_id"`
	KDF        string `json:"kdf"`
	Time       int    `json:"t"`
	Memory     int    `json:"m"`
	Threads    int    `json:"p"`
	Salt       []byte `json:"salt"`
	Cipher     string `json:"cipher"`
	Nonce      []byte `json:"nonce"`
	Ciphertext []byte `json:"ciphertext"`
}

// EncodeBackup seals a key with a passphrase: argon2id, AES-256-GCM over PKCS#8.
func EncodeBackup(k *PrivateKey, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, ErrPassphraseNeeded
	}
	der, err := x509.MarshalPKCS8PrivateKey(k.rsa)
	if err != nil {
		return nil, err
	}
	b := backup{
		Format: BackupFormat, KeyID: k.Public().KeyID(), KDF: "argon2id", Cipher: "AES-256-GCM",
		Time: backupTime, Memory: backupMemory, Threads: backupThreads,
		Salt: make([]byte, backupSalt), Nonce: make([]byte, gcmNonce),
	}
	_, _ = rand.Read(b.Salt)  // never fails
	_, _ = rand.Read(b.Nonce) // never fails
	aead, err := b.aead(passphrase)
	if err != nil {
		return nil, err
	}
	b.Ciphertext = aead.Seal(nil, b.Nonce, der, b.bound())
	return Encode(b)
}

// OpenBackup reads either backup form; a wrong passphrase is [ErrPassphrase].
func OpenBackup(file, passphrase []byte) (*PrivateKey, error) {
	if len(passphrase) == 0 {
		return nil, ErrPassphraseNeeded
	}
	b, err := parseBackup(file)
	if err != nil {
		return ParsePrivateKey(file, passphrase)
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	aead, err := b.aead(passphrase)
	if err != nil {
		return nil, err
	}
	der, err := aead.Open(nil, b.Nonce, b.Ciphertext, b.bound())
	if err != nil {
		return nil, ErrPassphrase
	}
	key, err := parsePKCS8(der)
	if err != nil {
		return nil, err
	}
	return newPrivateKey(key)
}

func parseBackup(file []byte) (backup, error) {
	var b backup
	if len(file) > MaxPEM {
		return b, fmt.Errorf("%w: longer than %d bytes", ErrBadKey, MaxPEM)
	}
	return b, Decode(file, &b)
}

// check refuses what would cost more than a backup of ours before any work.
func (b backup) check() error {
	switch {
	case b.Format != BackupFormat || b.KDF != "argon2id" || b.Cipher != "AES-256-GCM":
		return fmt.Errorf("%w: not a %s", ErrBadKey, BackupFormat)
	case b.Time < 1 || b.Time > maxTime || b.Threads < 1 || b.Threads > maxThreads,
		b.Memory < 8*b.Threads || b.Memory > maxMemory:
		return fmt.Errorf("%w: cost out of bounds", ErrBadKey)
	case len(b.Salt) < 8 || len(b.Nonce) != gcmNonce || len(b.Ciphertext) < gcmTag:
		return fmt.Errorf("%w: cut short", ErrBadKey)
	}
	return nil
}

func (b backup) bound() []byte { return []byte(BackupFormat + "\n" + b.KeyID) }

func (b backup) aead(passphrase []byte) (cipher.AEAD, error) {
	key := argon2.IDKey(passphrase, b.Salt, uint32(b.Time), uint32(b.Memory), uint8(b.Threads), 32)
	return newGCM(key)
}

const (
	gcmNonce = 12
	gcmTag   = 16
)

func newGCM(key []byte) (cipher.AEAD, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(c)
}
