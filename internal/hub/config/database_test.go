package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/internal/hub/config"
)

func TestTheDatabaseInASettingsFileIsChangedAndNothingElse(t *testing.T) {
	const moved = "postgres://me:a%23b@db.example.org/parley?sslmode=verify-full"
	const full = "# ours\nlisten: 127.0.0.1:1 # here\ndb: postgres://old/parley\nhub_name: a\n"
	for name, c := range map[string]struct{ text, db string }{
		"another":           {full, moved},
		"none any more":     {full, ""},
		"one for the first": {"listen: 127.0.0.1:1\nhub_name: a\n", moved},
		"one in a new file": {"", moved},
		"only that":         {"db: postgres://old/parley\n", ""},
		"quoted":            {"\"db\": 'postgres://old/parley'\nlisten: 127.0.0.1:1\nhub_name: a\n", moved},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := config.WithDatabase([]byte(c.text), c.db)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, config.FileName), now, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := config.Load(config.Sources{Data: dir})
			if err != nil || got.DB != c.db {
				t.Errorf("the settings name the database %q (%v), want %q", got.DB, err, c.db)
			}
			if strings.Contains(c.text, "listen") && (got.Listen != "127.0.0.1:1" || got.HubName != "a") {
				t.Errorf("another setting changed: %q, %q", got.Listen, got.HubName)
			}
			if strings.Contains(c.text, "#") && !strings.Contains(string(now), "# here") {
				t.Errorf("a comment is gone:\n%s", now)
			}
		})
	}
	if _, err := config.WithDatabase([]byte("- a\n- b\n"), moved); err == nil {
		t.Error("a file that is no list of settings was changed")
	}
	same := []byte("listen:   127.0.0.1:1\n")
	if now, err := config.WithDatabase(same, ""); err != nil || string(now) != string(same) {
		t.Errorf("a file that needs no change is now %q, %v", now, err)
	}
}
