package release

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Namespace keeps an OpenSSH signature of ours from meaning anything elsewhere.
const Namespace = "parley-release"

// ErrSignature says that nobody trusted has signed this list.
var ErrSignature = errors.New("the checksums are not signed by a release key you trust: take nothing of this release")

// SignFolder writes a folder's checksums and both signatures.
func SignFolder(folder string, key ed25519.PrivateKey) error {
	sums, err := SumFolder(folder)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		SumsFile:      sums,
		SignatureFile: []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(key, sums)) + "\n"),
		SSHFile:       []byte(sshSignature(key, sums)),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil { //nolint:gosec // for everybody
			return err
		}
	}
	return nil
}

// verifySignature tells whether one of the keys signed the list.
func verifySignature(sums, signature []byte, keys []ed25519.PublicKey) error {
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(string(signature)))
	if err != nil {
		return ErrSignature
	}
	for _, k := range keys {
		if ed25519.Verify(k, sums, raw) {
			return nil
		}
	}
	return ErrSignature
}

// sshSignature is the armoured form that OpenSSH describes in PROTOCOL.sshsig.
func sshSignature(key ed25519.PrivateKey, message []byte) string {
	const kind, hash = "ssh-ed25519", "sha512"
	public, _ := key.Public().(ed25519.PublicKey)
	digest := sha512.Sum512(message)
	signed := ed25519.Sign(key, append([]byte("SSHSIG"), sshStrings(Namespace, "", hash, string(digest[:]))...))
	blob := binary.BigEndian.AppendUint32([]byte("SSHSIG"), 1)
	blob = append(blob, sshStrings(string(sshStrings(kind, string(public))), Namespace, "", hash, string(sshStrings(kind, string(signed))))...)
	var armour strings.Builder
	armour.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	text := base64.StdEncoding.EncodeToString(blob)
	for len(text) > 0 {
		n := min(len(text), 70)
		armour.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	armour.WriteString("-----END SSH SIGNATURE-----\n")
	return armour.String()
}

// SSHPublicKey writes a key as OpenSSH's files of keys have it.
func SSHPublicKey(key ed25519.PublicKey) string {
	return "ssh-ed25519 " + base64.StdEncoding.EncodeToString(sshStrings("ssh-ed25519", string(key)))
}

// sshStrings writes each with its length before it.
func sshStrings(words ...string) (out []byte) {
	for _, w := range words {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(w))), w...) //nolint:gosec // all of them are short
	}
	return out
}
