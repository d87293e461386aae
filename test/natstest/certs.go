package natstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certs are PEM files of an authority, a server at 127.0.0.1 and a client it knows.
type Certs struct{ CA, ServerCert, ServerKey, ClientCert, ClientKey string }

// NewCerts makes an authority of its own.
func NewCerts(t testing.TB) Certs {
	t.Helper()
	dir := t.TempDir()
	ca := &x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caKey := newKey(t)
	c := Certs{CA: filepath.Join(dir, "ca.pem")}
	writePEM(t, c.CA, "CERTIFICATE", sign(t, ca, ca, caKey, caKey))
	leaf := func(name string) (cert, key string) {
		mine := newKey(t)
		cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		writePEM(t, cert, "CERTIFICATE", sign(t, &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}, ca, mine, caKey))
		der, err := x509.MarshalPKCS8PrivateKey(mine)
		if err != nil {
			t.Fatal(err)
		}
		writePEM(t, key, "PRIVATE KEY", der)
		return cert, key
	}
	c.ServerCert, c.ServerKey = leaf("server")
	c.ClientCert, c.ClientKey = leaf("client")
	return c
}

// Setting is the server's: it shows its certificate and wants to see one of the client.
func (c Certs) Setting() string {
	return "tls { cert_file: \"" + filepath.ToSlash(c.ServerCert) + "\", key_file: \"" + filepath.ToSlash(c.ServerKey) +
		"\", ca_file: \"" + filepath.ToSlash(c.CA) + "\", verify: true }"
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, cert, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	cert.SerialNumber = big.NewInt(time.Now().UnixNano())
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, cert, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
