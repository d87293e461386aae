package kenny

import "encoding/hex"

// releaseLabel separates release signatures from any other use of a key.
const releaseLabel = "parley-release-v1"

// ReleaseMessage is what a release key signs about an endpoint program: its
// version, what it runs on (os-arch, as Go names them) and its SHA-256.
func ReleaseMessage(version, platform string, sum [32]byte) []byte {
	m := append([]byte(releaseLabel), 0)
	m = append(append(m, version...), 0)
	m = append(append(m, platform...), 0)
	return append(m, hex.EncodeToString(sum[:])...)
}
