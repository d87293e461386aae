package cluster_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/hubtest"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

func TestMain(m *testing.M) {
	if target := os.Getenv(holderVar); target != "" {
		hold(target)
		return
	}
	hubtest.Main(m)
}

// holderVar makes this program a hub that takes things and keeps them until it is killed.
const holderVar = "PARLEY_TEST_HOLDER"

func hold(target string) {
	ctx := context.Background()
	db, err := store.Open(ctx, target, store.Options{})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	leases, err := lease.Join(ctx, db, "doomed", lease.Options{})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for i := range things {
		if _, err := leases.Acquire(ctx, fmt.Sprintf("task.%d", i)); err != nil {
			fmt.Println("error", err)
			return
		}
	}
	fmt.Println("holding", leases.ID())
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// cluster is hubs on one database and one NATS cluster.
type cluster struct {
	nodes []*natstest.Node
	hubs  []*hubtest.Hub
	db    string
}

func start(t *testing.T, hubs int) *cluster {
	t.Helper()
	c := &cluster{nodes: natstest.Cluster(t, 3), db: pgtest.URL(t)}
	for i := range hubs {
		data := filepath.Join(pgtest.Folder(t), "data")
		c.hubs = append(c.hubs, hubtest.Start(t, hubtest.Config{Data: data, Args: []string{"--db", c.db, "--nats", c.urls(), "--name", fmt.Sprintf("hub-%d", i)}, Env: []string{hubtest.Visits}}))
	}
	return c
}

// secret is what the hubs of this cluster seal their messages with. Whoever can read
// the database can have it; whoever reaches NATS alone cannot.
func (c *cluster) secret(t *testing.T) []byte {
	t.Helper()
	var text string
	err := storetest.Open(t, c.db).Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT value FROM settings WHERE name = 'bus_secret'`).Scan(&text)
	})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func (c *cluster) urls() string {
	urls := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		urls[i] = n.URL()
	}
	return strings.Join(urls, ",")
}
