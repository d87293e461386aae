package update

import (
	"crypto/ed25519"
	"strings"

	wire "parley.internal/protocol/kenny"
)

// releaseKeys is set by the build of a release: public keys in base64,
// separated by commas. A build of your own has none; --release-key names yours.
var releaseKeys string

// BuiltInKeys are the keys a release of this program trusts.
func BuiltInKeys() []ed25519.PublicKey {
	var out []ed25519.PublicKey
	for text := range strings.SplitSeq(releaseKeys, ",") {
		if k, err := wire.ParsePublicKey(strings.TrimSpace(text)); err == nil {
			out = append(out, k)
		}
	}
	return out
}
