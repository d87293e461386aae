package owner_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley.internal/internal/bus"
	"parley.internal/internal/owner/ownertest"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContractInOneProcess(t *testing.T) {
	inBubble := func(t *testing.T, test func(t *testing.T)) { synctest.Test(t, test) }
	ownertest.Contract(t, inBubble, func(t *testing.T) *ownertest.World {
		exchange := bus.NewLocal()
		t.Cleanup(func() { _ = exchange.Close() })
		return &ownertest.World{Quick: true, DB: storetest.SQLite(t), Bus: func(*testing.T) bus.Bus { return exchange.Peer() }}
	})
}

func TestContractBetweenHubs(t *testing.T) {
	node := natstest.Run(t)
	secret := bytes.Repeat([]byte("s"), bus.SecretSize)
	connect := func(t *testing.T) bus.Bus {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b, err := bus.ConnectNATS(ctx, bus.NATSConfig{Servers: bus.Servers{URLs: node.URL()}, Secret: secret, Name: "hub"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			plainly := func(t *testing.T, test func(t *testing.T)) { test(t) }
			ownertest.Contract(t, plainly, func(t *testing.T) *ownertest.World { return &ownertest.World{DB: open(t), Bus: connect} })
		})
	}
}
