package sdk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"
)

// file is one file of a package.
type file struct {
	name string
	data []byte
}

// released are the versions a Go module without a number in its path may have. Builds
// between two tags look like one and are none.
var released = regexp.MustCompile(`^v[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

// hash names a content: what changed has another.
func hash(files []file) string {
	h := sha256.New()
	for _, f := range files {
		for _, part := range [][]byte{[]byte(f.name), f.data} {
			_ = binary.Write(h, binary.BigEndian, uint64(len(part))) // a hash never fails
			h.Write(part)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// goVersion is the hub's version as Go writes one. A build that is no release has no
// time that all hubs of a cluster agree on; its hash tells it apart.
func goVersion(hub string, files []file) string {
	if released.MatchString(hub) {
		return hub
	}
	return "v0.0.0-20000101000000-" + hash(files)
}

// pythonVersion is the same as Python writes it.
func pythonVersion(hub string, files []file) string {
	if released.MatchString(hub) {
		return hub[1:]
	}
	return "0.0.0+" + hash(files)
}
