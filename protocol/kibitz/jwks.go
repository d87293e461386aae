package kibitz

import (
	"crypto/rsa"
	"errors"
	"math/big"

	"github.com/go-json-experiment/json"
)

// KeySet is the usable signing keys of an issuer.
type KeySet struct{ keys []issuerKey }

type issuerKey struct {
	kid string
	key *rsa.PublicKey
}

// RSA keys below are weak, above are a way to burn our time.
const minRSABits, maxRSABits = 2048, 8192

// ParseKeySet reads a JWKS. Keys that cannot verify RS256 are left out: other
// kinds, other uses, other algorithms.
func ParseKeySet(raw Raw) (*KeySet, error) {
	o, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	var list []Raw
	if o["keys"].Kind() != '[' || json.Unmarshal(o["keys"], &list, lenientText) != nil {
		return nil, errors.New("a key set without keys")
	}
	set := &KeySet{}
	for _, v := range list {
		if k, ok := readIssuerKey(v); ok {
			set.keys = append(set.keys, k)
		}
	}
	return set, nil
}

func readIssuerKey(raw Raw) (issuerKey, bool) {
	o, err := readObject(raw)
	if err != nil || !o.is("kty", "RSA") || (o.has("use") && !o.is("use", "sig")) || (o.has("alg") && !o.is("alg", algRS256)) {
		return issuerKey{}, false
	}
	nText, _ := o.text("n")
	eText, _ := o.text("e")
	n, errN := decodeBase64(nText)
	e, errE := decodeBase64(eText)
	if errN != nil || errE != nil || len(e) == 0 || len(e) > 4 {
		return issuerKey{}, false
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits || key.E < 3 || key.E%2 == 0 || key.E > 1<<31-1 {
		return issuerKey{}, false
	}
	kid, _ := o.text("kid")
	return issuerKey{kid, key}, true
}

// HasKid tells whether the set has a usable key of that name, for a cache
// that fetches again when it has not.
func (s *KeySet) HasKid(kid string) bool { return len(s.choose(kid, true)) > 0 }

// choose gives the keys to try.
func (s *KeySet) choose(kid string, named bool) []*rsa.PublicKey {
	var out []*rsa.PublicKey
	if s == nil {
		return nil
	}
	for _, k := range s.keys {
		if !named || k.kid == kid {
			out = append(out, k.key)
		}
	}
	return out
}
