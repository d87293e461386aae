package config_test

import (
	"errors"
	"testing"

	"parley.internal/internal/hub/config"
)

func TestThePlacesPolicyFollowsTheListener(t *testing.T) {
	for name, c := range map[string]struct {
		flags map[string]string
		want  string
	}{
		"loopback":                 {map[string]string{"listen": "127.0.0.1:1"}, "tofu"},
		"loopback by name":         {map[string]string{"listen": "localhost:1"}, "tofu"},
		"public":                   {map[string]string{"listen": "0.0.0.0:443", "tls-cert": "c", "tls-key": "k"}, "strict"},
		"loopback behind a proxy":  {map[string]string{"listen": "127.0.0.1:1", "behind-proxy": "127.0.0.1"}, "strict"},
		"asked for":                {map[string]string{"listen": "127.0.0.1:1", "place-auth": "strict"}, "strict"},
		"asked for, in the public": {map[string]string{"listen": "0.0.0.0:443", "tls-cert": "c", "tls-key": "k", "place-auth": "open"}, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Load(config.Sources{Data: t.TempDir(), Flags: c.flags})
			if err != nil || got.PlaceAuth() != c.want {
				t.Errorf("%q, want %q; %v", got.PlaceAuth(), c.want, err)
			}
		})
	}
	if _, err := config.Load(config.Sources{Data: t.TempDir(), Flags: map[string]string{"place-auth": "maybe"}}); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
