package wsconn_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley.internal/internal/wsconn"
)

func TestOriginAndHost(t *testing.T) {
	local := wsconn.OriginConfig{Listen: []string{"127.0.0.1:7788"}}
	lan := wsconn.OriginConfig{Listen: []string{"0.0.0.0:7788", "hub.lan:7788"}, Hosts: []string{"HUB2.lan"}}
	public := wsconn.OriginConfig{
		Listen: []string{"[::]:443"}, PublicURL: "https://hub.example", Origins: []string{"https://app.example:8443"}, BehindProxy: true,
	}
	for _, c := range []struct {
		name         string
		cfg          wsconn.OriginConfig
		host, origin string
		tls          bool
		want         error
	}{
		{"no origin", local, "127.0.0.1:7788", "", false, nil},
		{"own origin", local, "127.0.0.1:7788", "http://127.0.0.1:7788", false, nil},
		{"own origin by name", local, "localhost:7788", "http://localhost:7788", false, nil},
		{"another loopback name of the listener", local, "127.0.0.1:7788", "http://localhost:7788", false, nil},
		{"IPv6 loopback", local, "[::1]:7788", "http://[::1]:7788", false, nil},
		{"forwarded port", local, "localhost:9000", "http://localhost:9000", false, nil},
		{"another program's page on this computer", local, "localhost:7788", "http://localhost:3000", false, wsconn.ErrForeignOrigin},
		{"another scheme", local, "localhost:7788", "https://localhost:7788", false, wsconn.ErrForeignOrigin},
		{"null", local, "localhost:7788", "null", false, wsconn.ErrForeignOrigin},
		{"empty scheme", local, "localhost:7788", "//localhost:7788", false, wsconn.ErrForeignOrigin},
		{"another site", local, "localhost:7788", "http://evil.example", false, wsconn.ErrForeignOrigin},
		{"a name that begins like ours", local, "localhost:7788", "http://localhost.evil.example:7788", false, wsconn.ErrForeignOrigin},
		{"user part", local, "localhost:7788", "http://localhost:7788@evil.example", false, wsconn.ErrForeignOrigin},
		{"a file", local, "localhost:7788", "file://", false, wsconn.ErrForeignOrigin},
		{"an extension", local, "localhost:7788", "chrome-extension://abc", false, wsconn.ErrForeignOrigin},
		{"rebound name", local, "evil.example:7788", "http://evil.example:7788", false, wsconn.ErrForeignHost},
		{"rebound name without origin", local, "evil.example:7788", "", false, wsconn.ErrForeignHost},
		{"no host", local, "", "", false, wsconn.ErrForeignHost},
		{"wildcard is no name", lan, "0.0.0.0:7788", "", false, wsconn.ErrForeignHost},
		{"listener's name", lan, "Hub.LAN:7788", "http://hub.lan:7788", false, nil},
		{"configured name", lan, "hub2.lan:7788", "http://hub2.lan:7788", false, nil},
		{"final dot", lan, "hub.lan.:7788", "", false, nil},
		{"TLS", lan, "hub.lan:7788", "https://hub.lan:7788", true, nil},
		{"plain page on TLS", lan, "hub.lan:7788", "http://hub.lan:7788", true, wsconn.ErrForeignOrigin},
		{"public URL", public, "hub.example", "https://hub.example", false, nil},
		{"public URL with its port", public, "hub.example:443", "https://hub.example:443", false, nil},
		{"public URL without TLS", public, "hub.example", "http://hub.example", false, wsconn.ErrForeignOrigin},
		{"configured origin", public, "hub.example", "https://app.example:8443", false, nil},
		{"configured origin's other port", public, "hub.example", "https://app.example", false, wsconn.ErrForeignOrigin},
		{"configured origin is no host", public, "app.example:8443", "", false, wsconn.ErrForeignHost},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := wsconn.NewOriginPolicy(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.tls {
				r.TLS = new(tls.ConnectionState)
			}
			if err := p.Check(r); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("check returned %v, want %v", err, c.want)
			}
		})
	}
}

func TestBadOriginConfigurationIsRefused(t *testing.T) {
	for _, cfg := range []wsconn.OriginConfig{
		{Listen: []string{"no-port"}},
		{PublicURL: "hub.example"},
		{Origins: []string{"null"}},
	} {
		if _, err := wsconn.NewOriginPolicy(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
