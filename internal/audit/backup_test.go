package audit_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestARestoredTrailVerifiesAndGoesOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey()
		log := open(t, db, audit.Options{Key: key})
		mustAppend(t, log, sample(5)...)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		var dump bytes.Buffer
		if err := db.Dump(t.Context(), &dump); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(t.TempDir(), "restored.db")
		if err := store.Load(t.Context(), target, &dump, store.Options{}); err != nil {
			t.Fatal(err)
		}
		restored := open(t, storetest.Open(t, target), audit.Options{Key: key})
		mustAppend(t, restored, sample(2)...)
		if r := verify(t, restored); !r.OK || r.Entries != 7 || r.LastSigned != 5 {
			t.Errorf("%+v; want r.OK, r.Entries to be 7, r.LastSigned to be 5", r)
		}
	})
}
