package hub

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/caddyserver/certmagic"

	"parley.internal/internal/hub/config"
)

// tlsConfig is nil for a plain listener. stop ends the upkeep of certificates.
func tlsConfig(ctx context.Context, c config.Config) (secure *tls.Config, stop func(), err error) {
	switch {
	case c.TLS.ACMEDomain != "":
		return acme(ctx, c)
	case c.TLS.Cert != "":
		secure, err = fromFiles(c.TLS)
		return secure, func() {}, err
	default:
		return nil, func() {}, nil
	}
}

func fromFiles(t config.TLS) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be used: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// acme gets and renews a certificate by the TLS-ALPN challenge, which needs no
// second port.
func acme(ctx context.Context, c config.Config) (*tls.Config, func(), error) {
	var magic *certmagic.Config
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return magic, nil },
	})
	magic = certmagic.New(cache, certmagic.Config{Storage: &certmagic.FileStorage{Path: Folder(c.Data).Path("acme")}})
	magic.Issuers = []certmagic.Issuer{certmagic.NewACMEIssuer(magic, certmagic.ACMEIssuer{
		CA: certmagic.LetsEncryptProductionCA, Email: c.TLS.ACMEEmail, Agreed: true, DisableHTTPChallenge: true,
	})}
	if err := magic.ManageAsync(ctx, []string{c.TLS.ACMEDomain}); err != nil {
		cache.Stop()
		return nil, nil, fmt.Errorf("getting a certificate for %s: %w", c.TLS.ACMEDomain, err)
	}
	secure := magic.TLSConfig()
	secure.MinVersion = tls.VersionTLS12
	secure.NextProtos = append([]string{"http/1.1"}, secure.NextProtos...)
	return secure, cache.Stop, nil
}
