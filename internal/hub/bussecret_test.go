package hub_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/natstest"
	"parley.internal/test/pgtest"
)

// settingIn is a row of the settings table, or nothing.
func settingIn(t *testing.T, db, name string) (value string) {
	t.Helper()
	if err := storetest.Open(t, db).Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT COALESCE(MAX(value), '') FROM settings WHERE name = ?`, name).Scan(&value)
	}); err != nil {
		t.Fatal(err)
	}
	return value
}

// A copy of a cluster on the same NATS servers, for trying something out, would otherwise
// talk to the original.
func TestARestoredDatabaseIsAClusterOfItsOwn(t *testing.T) {
	nats, original, restored := natstest.Run(t).URL(), pgtest.URL(t), pgtest.URL(t)
	settings := func(db string) config.Config {
		conf, err := config.Load(config.Sources{Data: filepath.Join(t.TempDir(), "data"), Flags: map[string]string{"db": db, "nats": nats}})
		if err != nil {
			t.Fatal(err)
		}
		return conf
	}
	open := func(conf config.Config) *hub.Hub {
		h, err := hub.Open(t.Context(), conf, hub.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		return h
	}
	first := open(settings(original))
	secret := settingIn(t, original, "bus_secret")
	open(settings(original))
	if again := settingIn(t, original, "bus_secret"); secret == "" || again != secret {
		t.Errorf("a second hub changed the secret from %d to %d letters", len(secret), len(again))
	}
	var backup bytes.Buffer
	if err := first.Backup(t.Context(), &backup, nil); err != nil {
		t.Fatal(err)
	}
	conf := settings(restored)
	if err := hub.Restore(t.Context(), conf, &backup, hub.Secrets{}); err != nil {
		t.Fatal(err)
	}
	if settingIn(t, restored, "hub_key") != settingIn(t, original, "hub_key") {
		t.Error("the restored hub has another key")
	}
	if settingIn(t, restored, "bus_secret") != "" {
		t.Error("the restored hub has the secret of the original")
	}
	open(conf)
	if other := settingIn(t, restored, "bus_secret"); other == "" || other == secret {
		t.Error("the restored hub made no secret of its own")
	}
}

// Whoever read the database, or a dump of it, could sign as the hub.
func TestTheHubsKeyIsSealedInTheDatabase(t *testing.T) {
	db, folder := pgtest.URL(t), filepath.Join(t.TempDir(), "data")
	open := func(data, secret string) (*hub.Hub, error) {
		conf, err := config.Load(config.Sources{Data: data, Flags: map[string]string{"db": db}, Environ: []string{"PARLEY_KEY_SECRET=" + secret}})
		if err != nil {
			t.Fatal(err)
		}
		return hub.Open(t.Context(), conf, hub.Options{Quiet: true})
	}
	first, err := open(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	public := first.PublicKey()
	first.Close()
	clear := settingIn(t, db, "hub_key")
	again, err := open(folder, "a long secret")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if sealed := settingIn(t, db, "hub_key"); !strings.HasPrefix(sealed, "sealed:") || strings.Contains(sealed, clear) {
		t.Errorf("with a secret the database has %d letters that do not begin with sealed:", len(sealed))
	}
	joined, err := open(filepath.Join(t.TempDir(), "data"), "a long secret")
	if err != nil || joined.PublicKey() != public {
		t.Fatalf("a hub with the secret: %v, want it to have the key", err)
	}
	joined.Close()
	for secret, want := range map[string]string{"": "set key_secret", "another": "key_secret does not fit"} {
		if h, err := open(filepath.Join(t.TempDir(), "data"), secret); err == nil || !strings.Contains(err.Error(), want) {
			if h != nil {
				h.Close()
			}
			t.Errorf("a hub with the secret %q: %v, want %q", secret, err, want)
		}
	}
}
