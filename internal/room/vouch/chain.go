package vouch

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"time"

	"parley.internal/protocol/kibitz"
)

var errChain = errors.New("no certificate chain to a root of this room")

// LeafKey is the key of a certificate.
func LeafKey(leaf *x509.Certificate) (*kibitz.PublicKey, error) {
	key, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return nil, kibitz.ErrBadKey
	}
	return kibitz.NewPublicKey(key)
}

// Chain checks certificates, leaf first, up to a root of the policy, and
// the name in the leaf. The texts of its errors repeat nothing of them.
func Chain(chain []string, ca kibitz.CAPolicy, now time.Time) (*x509.Certificate, error) {
	certs, err := parseChain(chain)
	if err != nil {
		return nil, err
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, text := range ca.Roots {
		addRoots(roots, text)
	}
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	leaf := certs[0]
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return nil, errChain
	}
	if SPIFFEName(leaf, ca.SPIFFE) == "" {
		return nil, errors.New("the certificate has no name this room admits")
	}
	return leaf, nil
}

func parseChain(chain []string) ([]*x509.Certificate, error) {
	if len(chain) == 0 || len(chain) > kibitz.MaxChain {
		return nil, errChain
	}
	certs := make([]*x509.Certificate, len(chain))
	for i, text := range chain {
		der, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			der, err = base64.RawURLEncoding.DecodeString(text)
		}
		if err != nil {
			return nil, errors.New("a certificate is not base64")
		}
		if certs[i], err = x509.ParseCertificate(der); err != nil {
			return nil, errors.New("a certificate cannot be read")
		}
	}
	return certs, nil
}

// addRoots takes every certificate of a PEM text.
func addRoots(pool *x509.CertPool, text string) {
	rest := []byte(text)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			pool.AddCert(cert)
		}
	}
}

// SPIFFEName is the first URI of a certificate that fits the pattern.
func SPIFFEName(leaf *x509.Certificate, pattern string) string {
	if pattern == "" {
		return ""
	}
	for _, u := range leaf.URIs {
		if kibitz.Match(pattern, u.String()) {
			return u.String()
		}
	}
	return ""
}
