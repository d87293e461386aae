package approval_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"parley.internal/internal/approval"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestAQuestionSurvivesABackup(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		in := open(t, db, newBus(t), approval.Options{})
		req := request()
		req.Quorum, req.Policy.People = 2, []string{"id-bob"}
		id := ask(t, in, req).ID()
		answer(t, in, alice, id, approval.Answer{Approved: true})
		var dump bytes.Buffer
		if err := db.Dump(t.Context(), &dump); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(t.TempDir(), "restored.db")
		if err := store.Load(t.Context(), target, &dump, store.Options{}); err != nil {
			t.Fatal(err)
		}
		restored := open(t, storetest.Open(t, target), newBus(t), approval.Options{})
		p, err := restored.Resume(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if r := answer(t, restored, person("bob"), id, approval.Answer{Approved: true}); !r.Decided || !wait(t, p).Approved() {
			t.Errorf("%+v; want r.Decided, wait(t, p).Approved()", r)
		}
	})
}
