package identity_test

import (
	"testing"

	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/store/storetest"
)

// The hot path: a token that is in use.
func BenchmarkAuthenticate(b *testing.B) {
	local := bus.NewLocal()
	defer func() { _ = local.Close() }()
	dir, err := identity.Open(b.Context(), storetest.SQLite(b), local, identity.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	first, err := dir.Bootstrap(b.Context(), "owner")
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := dir.Authenticate(b.Context(), first.Secret); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
