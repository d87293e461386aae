package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// witness keeps what it is told.
type witness struct {
	mu  sync.Mutex
	all []audit.Checkpoint
}

func (w *witness) told(cp audit.Checkpoint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, cp)
}

func (w *witness) kept() []audit.Checkpoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]audit.Checkpoint{}, w.all...)
}

// cutAt takes the end of the trail away, with the checkpoints over it, as somebody
// who owns the database can.
func cutAt(t testing.TB, db *store.DB, seq int64) {
	t.Helper()
	err := db.Write(t.Context(), both(
		run(`DELETE FROM audit_entries WHERE seq > ?`, seq), run(`DELETE FROM audit_checkpoints WHERE seq > ?`, seq),
		run(`UPDATE audit_head SET seq = ?, hash = (SELECT hash FROM audit_entries WHERE seq = ?)`, seq, seq)))
	if err != nil {
		t.Fatal(err)
	}
}

// signedTrail is a trail of 20 entries with checkpoints over 10 and 20, and what a
// witness has of it.
func signedTrail(t *testing.T, db *store.DB, key ed25519.PrivateKey) []audit.Checkpoint {
	t.Helper()
	w := &witness{}
	log := open(t, db, audit.Options{Key: key, CheckpointEntries: 10, OnCheckpoint: w.told})
	mustAppend(t, log, sample(10)...)
	mustAppend(t, log, sample(10)...)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.kept(); len(got) != 2 || got[1].Seq != 20 {
		t.Fatalf("the witness has %d checkpoints: %+v", len(got), got)
	}
	return w.kept()
}

func TestACutNamesWhatIsMissingAndWhereThatIsKnownFrom(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey()
		kept := signedTrail(t, db, key)
		cutAt(t, db, 12)
		log := open(t, db, audit.Options{Key: key})
		want := "the trail ends at 12, but a checkpoint kept in a witness signs entry 20"
		if r := verify(t, log, kept...); r.OK || r.BadSeq != 13 || r.Problem != want || len(r.Cuts) != 1 || r.Kept[0].Last != 10 {
			t.Errorf("a cut at 12 of 20 with a checkpoint over 20: %+v", r)
		}
		// Grown again beyond its old length it still does not fit.
		mustAppend(t, log, sample(30)...)
		want = "the trail was cut somewhere after 10 and written anew: a checkpoint kept in a witness signs another entry 20"
		if r := verify(t, log, kept...); r.OK || r.Problem != want {
			t.Errorf("a trail that was cut and written anew: %+v", r)
		}
	})
}

func TestAHubThatFindsACutTellsTheTrailOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey()
		kept := audit.Kept{Where: "a file", Checkpoints: signedTrail(t, db, key)}.Ends()
		cutAt(t, db, 12)
		for range 2 {
			log := open(t, db, audit.Options{Key: key})
			cuts, err := log.NoteCuts(t.Context(), kept)
			if err != nil || len(cuts) != 1 || cuts[0].After != 12 || cuts[0].UpTo != 20 {
				t.Fatalf("the comparison at start found %+v, %v", cuts, err)
			}
			mustAppend(t, log, sample(10)...)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}
		log := open(t, db, audit.Options{Key: key})
		found, err := log.Query(t.Context(), audit.Filter{Action: string(audit.TrailCut)})
		if err != nil || len(found) != 1 || found[0].Actor != "hub" || found[0].Detail["kept"] != "a file" {
			t.Errorf("one entry about one cut, got %+v, %v", found, err)
		}
		want := "the trail was cut at 12 and written anew: a checkpoint kept in a witness signs another entry 20"
		if r := verify(t, log, kept.Checkpoints...); r.OK || r.Problem != want {
			t.Errorf("the entry tells where the cut was: %+v", r)
		}
	})
}

// Nothing but the hub's own memory knows of entries that were never signed.
func TestACutUnderARunningHubIsNoticedByItsNextEntry(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := open(t, db, audit.Options{Key: newKey()})
		mustAppend(t, log, sample(9)...)
		// Nothing is signed yet, so there is no checkpoint to be deleted.
		err := db.Write(t.Context(), both(run(`DELETE FROM audit_entries WHERE seq > 5`),
			run(`UPDATE audit_head SET seq = 5, hash = (SELECT hash FROM audit_entries WHERE seq = 5)`)))
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), func(tx *store.Tx) error { return log.AppendTx(tx, sample(1)...) })
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, sample(1)...)
		mustAppend(t, log, sample(1)...)
		found, err := log.Query(t.Context(), audit.Filter{Action: string(audit.TrailCut)})
		if err != nil || len(found) != 1 || found[0].Target != "5" || found[0].Detail["up_to"] != 9.0 {
			t.Errorf("one entry that the trail was cut at 5 of 9, got %+v, %v", found, err)
		}
	})
}

// A restored backup is a cut that somebody knows of. It is never silent again.
func TestAnAcknowledgedCutIsNamedAndNeverCalledIntact(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := newKey()
		kept := signedTrail(t, db, key)
		where := audit.Kept{Where: "a file", Checkpoints: kept}
		w := &witness{}
		log := open(t, db, audit.Options{Key: key, OnCheckpoint: w.told})
		if _, err := log.AcknowledgeCuts(t.Context(), "person:owner", "a restore", where); !errors.Is(err, audit.ErrNoCut) {
			t.Errorf("acknowledging before anything was cut: %v", err)
		}
		cutAt(t, db, 12)
		if _, err := log.AcknowledgeCuts(t.Context(), "person:owner", "", where); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("acknowledging without a word why: %v", err)
		}
		if _, err := log.AcknowledgeCuts(t.Context(), "person:owner", "a restore", where); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, log, sample(20)...)
		r := verify(t, log, kept...)
		if r.OK || !r.Acknowledged || !strings.HasPrefix(r.Problem, "cut at 12 acknowledged by person:owner at 20") {
			t.Errorf("after the acknowledgement: %+v", r)
		}
		exported := export(t, log)
		r, err := audit.VerifyExport(bytes.NewReader(exported), keys(public(key)), where)
		if err != nil || r.OK || !r.Acknowledged {
			t.Errorf("in an export: %+v, %v", r, err)
		}
		// What is written since is not covered by it.
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		cutAt(t, db, 15)
		log = open(t, db, audit.Options{Key: key})
		if r := verify(t, log, append(kept, w.kept()...)...); r.OK || r.Acknowledged || !strings.HasPrefix(r.Problem, "the trail ends at 15") {
			t.Errorf("a second cut behind the acknowledgement: %+v", r)
		}
	})
}

// Whoever owns the database can add entries to the chain, but has not the hub's key.
func TestACutIsNotAcknowledgedByWhoeverMadeIt(t *testing.T) {
	db := storetest.SQLite(t)
	key, stranger := newKey(), newKey()
	kept := signedTrail(t, db, key)
	cutAt(t, db, 12)
	forger := open(t, db, audit.Options{Key: stranger, Trusted: keys(public(key))})
	if _, err := forger.AcknowledgeCuts(t.Context(), "person:owner", "a restore", audit.Kept{Where: "a file", Checkpoints: kept}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, forger, audit.Entry{Actor: "person:owner", Action: audit.TrailCutAcknowledged, Target: "12", Detail: map[string]any{
		"after": 0, "up_to": 1 << 40, "hash": kept[1].Hash.String(), "public_key": hex.EncodeToString(public(key)), "signature": "00",
	}})
	log := open(t, db, audit.Options{Key: key})
	if r := verify(t, log, kept...); r.OK || r.Acknowledged {
		t.Errorf("a forged acknowledgement counts: %+v", r)
	}
}

// A file full of rubbish must not make an honest trail look cut.
func TestCheckpointsOfOthersProveNothing(t *testing.T) {
	db := storetest.SQLite(t)
	key := newKey()
	kept := signedTrail(t, db, key)
	forged := kept[1]
	forged.Seq = 900
	log := open(t, db, audit.Options{Key: key})
	r := verify(t, log, append(kept, forged, audit.Checkpoint{Seq: -1})...)
	if !r.OK || r.Kept[0].Agree != 2 || r.Kept[0].Foreign != 2 {
		t.Errorf("two good checkpoints and two that say nothing: %+v", r)
	}
}

func TestCheckpointsAreReadFromWhateverHoldsThem(t *testing.T) {
	db := storetest.SQLite(t)
	key := newKey()
	kept := signedTrail(t, db, key)
	log := open(t, db, audit.Options{Key: key})
	list, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	line, err := kept[0].Line()
	if err != nil {
		t.Fatal(err)
	}
	one, err := json.Marshal(kept[1])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text       string
		found, bad int
	}{
		"the command's answer":                   {string(list), 2, 0},
		"the route's answer":                     {`{"checkpoints":` + string(list) + `}`, 2, 0},
		"lines, of either form":                  {string(line) + "\n\n" + string(one) + "\n", 2, 0},
		"a line that a power cut left unwritten": {string(line) + "\n" + string(one)[:20], 1, 1},
		"an export":                              {string(export(t, log)), 2, 0},
		"nothing":                                {"", 0, 0},
		"something else":                         {"hello\n{}\n[1]\n", 0, 3},
		"a checkpoint of nothing":                {`{"seq":0,"signature":"00"}`, 0, 1},
	} {
		got, bad, err := audit.ReadCheckpoints(strings.NewReader(c.text))
		if err != nil || len(got) != c.found || bad != c.bad {
			t.Errorf("%s: %d checkpoints and %d unreadable lines, %v; want %d and %d", name, len(got), bad, err, c.found, c.bad)
		}
		for _, cp := range got {
			if !cp.Valid(public(key)) {
				t.Errorf("%s: the checkpoint over %d lost its signature", name, cp.Seq)
			}
		}
	}
}

func FuzzReadCheckpoints(f *testing.F) {
	f.Add([]byte(`{"checkpoint":{"at":1,"hash":"` + strings.Repeat("00", 32) + `","public_key":"00","seq":1,"signature":"00"}}`))
	f.Add([]byte(`[{"seq":1}]`))
	f.Add([]byte("{\"checkpoints\":[null]}\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, _, err := audit.ReadCheckpoints(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("bytes in memory cannot fail to be read: %v", err)
		}
		for _, cp := range found {
			if _, err := cp.Line(); err != nil || cp.Seq < 1 {
				t.Errorf("a checkpoint that cannot be written again: %+v, %v", cp, err)
			}
		}
	})
}

// A database that is away for long costs entries; the trail says how many.
func TestNotesThatCannotBeKeptAreCountedInTheTrail(t *testing.T) {
	db := storetest.SQLite(t)
	log := open(t, db, audit.Options{})
	const notes = 52_000                                 // the log keeps 50,000
	err := db.Write(t.Context(), func(*store.Tx) error { // nobody else writes meanwhile
		for range notes {
			log.Note(audit.Entry{Action: "noted"})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, sample(1)...)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := log.Query(t.Context(), audit.Filter{Action: string(audit.TrailDropped)})
	if err != nil || len(found) == 0 {
		t.Fatalf("no entry about lost ones: %v", err)
	}
	lost := 0.0
	for _, r := range found {
		n, _ := r.Detail["entries"].(float64)
		lost += n
	}
	kept, err := log.Query(t.Context(), audit.Filter{Action: "noted", Limit: 1, Oldest: true})
	if err != nil || len(kept) != 1 || lost < 1 || lost > notes-50_000 {
		t.Errorf("%v of %d notes are said to be lost, %v", lost, notes, err)
	}
}
