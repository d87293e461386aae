package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/eventlog"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func journalRows(t *testing.T, db *store.DB) (n int) {
	t.Helper()
	if err := db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM event_journal`).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEventsInTheJournalAreReadByEverybody(t *testing.T) {
	db := storetest.SQLite(t)
	writer, other := newLog(t, db), newLog(t, db)
	writer.UseJournal(1, 100)
	appended(t, writer, "s", "a", "b")
	appended(t, writer, "s", "c")
	if n := journalRows(t, db); n != 2 {
		t.Fatalf("%d rows in the journal", n)
	}
	for name, log := range map[string]*eventlog.Log{"the writer": writer, "another log": other} {
		got, err := collect(t.Context(), log, "s", 1, 2)
		if diff := cmp.Diff([]string{"2:b", "3:c"}, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v; want no error, no difference", name, diff, err)
		}
	}
}

func TestANewLogEmptiesTheJournalOfTheFormer(t *testing.T) {
	db := storetest.SQLite(t)
	first := newLog(t, db)
	first.UseJournal(1, 100)
	for i := range 20 {
		appended(t, first, fmt.Sprint(i%3), fmt.Sprint(i))
	}
	second := newLog(t, db)
	appended(t, second, "0", "new")
	if n := journalRows(t, db); n != 0 {
		t.Errorf("%d rows are left in the journal", n)
	}
	got, err := collect(t.Context(), second, "0", 0, 8)
	if diff := cmp.Diff([]string{"1:0", "2:3", "3:6", "4:9", "5:12", "6:15", "7:18", "8:new"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestJournalRowsGoWhenAllTheirStreamsHaveMoved(t *testing.T) {
	db := storetest.SQLite(t)
	log := newLog(t, db)
	log.UseJournal(1, 4)
	for i := range 100 {
		appended(t, log, fmt.Sprint(i%7), fmt.Sprint(i))
	}
	if n, rows := log.JournalLen(), journalRows(t, db); n > 8 || rows > 40 {
		t.Errorf("%d events and %d rows wait", n, rows)
	}
}

func TestAStreamDeletedInTheJournalStartsEmpty(t *testing.T) {
	db := storetest.SQLite(t)
	log := newLog(t, db)
	log.UseJournal(1, 100)
	appended(t, log, "keep", "x")
	appended(t, log, "s", "old", "older")
	if err := log.Delete(t.Context(), nil, "s"); err != nil {
		t.Fatal(err)
	}
	// The new stream gets the id of the old one.
	appended(t, log, "s", "new")
	log.UseJournal(1, 0)
	appended(t, log, "keep", "y")
	appended(t, newLog(t, db), "keep", "z")
	got, err := collect(t.Context(), log, "s", 0, 1)
	if diff := cmp.Diff([]string{"1:new"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if b, err := log.Bounds(t.Context(), "s"); err != nil || b != (eventlog.Bounds{Oldest: 1, Last: 1}) {
		t.Errorf("%+v, %v", b, err)
	}
	if got, err := collect(t.Context(), log, "keep", 0, 3); err != nil || len(got) != 3 {
		t.Error(got, err)
	}
}

// Appends of many streams wait for each other, and a lost lease among them
// harms only its own.
func TestALostLeaseInAGroupFailsAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := newLog(t, db)
		leases, err := lease.Join(t.Context(), db, "a", lease.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = leases.Close(context.WithoutCancel(t.Context())) }()
		var wg sync.WaitGroup
		for i := range 60 {
			stream := fmt.Sprintf("s%d", i)
			mine, err := leases.Acquire(t.Context(), stream)
			if err != nil {
				t.Fatal(err)
			}
			lost := i%3 == 0
			if lost {
				if err := mine.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			wg.Go(func() {
				for range 4 {
					_, err := log.Append(t.Context(), mine, stream, text("x"))
					if lost != errors.Is(err, lease.ErrLost) || !lost && err != nil {
						t.Errorf("%s: %v", stream, err)
					}
				}
			})
		}
		wg.Wait()
		for i := range 60 {
			want := int64(4)
			if i%3 == 0 {
				want = 0
			}
			if b, err := log.Bounds(t.Context(), fmt.Sprintf("s%d", i)); err != nil || b.Last != want {
				t.Errorf("s%d: %+v, %v; want no error, b.Last to be %v", i, b, err, want)
			}
		}
	})
}

// A stream holds what a list would hold, whatever was appended, moved, trimmed,
// deleted and reopened before.
func TestTheJournalChangesNothingThatReadersSee(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db := storetest.SQLite(t)
		defer func() { _ = db.Close() }()
		var log *eventlog.Log
		reopen := func() {
			log = newLog(t, db)
			log.UseJournal(rapid.IntRange(1, 2).Draw(rt, "from"), rapid.IntRange(0, 20).Draw(rt, "most"))
		}
		reopen()
		model := map[string][]string{} // what was ever appended
		oldest := map[string]int64{}
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				s := name.Draw(rt, "stream")
				word := fmt.Sprintf("%s%d", s, len(model[s]))
				_, err := log.Append(t.Context(), nil, s, text(word), text(word+"'"))
				check(err)
				model[s] = append(model[s], word, word+"'")
			},
			"append in a transaction": func(rt *rapid.T) {
				s := name.Draw(rt, "stream")
				word := fmt.Sprintf("%s%d", s, len(model[s]))
				check(db.Write(t.Context(), func(tx *store.Tx) error {
					_, err := log.AppendTx(tx, nil, s, text(word))
					return err
				}))
				model[s] = append(model[s], word)
			},
			"trim": func(rt *rapid.T) {
				s := name.Draw(rt, "stream")
				keep := int64(rapid.IntRange(1, len(model[s])+1).Draw(rt, "keep"))
				check(log.Trim(t.Context(), nil, s, keep))
				oldest[s] = max(oldest[s], keep)
			},
			"delete": func(rt *rapid.T) {
				s := name.Draw(rt, "stream")
				check(log.Delete(t.Context(), nil, s))
				delete(model, s)
				delete(oldest, s)
			},
			"reopen": func(*rapid.T) { reopen() },
			"": func(rt *rapid.T) {
				s := name.Draw(rt, "stream")
				low := max(oldest[s], 1) - 1
				if len(model[s]) == 0 {
					low = 0
				}
				after := rapid.Int64Range(low, int64(len(model[s]))).Draw(rt, "after")
				events, err := log.Read(t.Context(), s, after, 7)
				check(err)
				var got []string
				for i, ev := range events {
					if ev.Seq != after+int64(i)+1 {
						rt.Fatalf("event %d of %s where %d was due", ev.Seq, s, after+int64(i)+1)
					}
					got = append(got, string(ev.Data))
				}
				want := model[s][after:min(after+7, int64(len(model[s])))]
				if fmt.Sprint(got) != fmt.Sprint(want) {
					rt.Fatalf("%s after %d: %v, want %v", s, after, got, want)
				}
			},
		})
	})
}

func FuzzJournalBlock(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 3, 1, 2, 0})
	f.Add([]byte{1, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, block []byte) {
		if again, err := eventlog.CopyBlock(block); err == nil && string(again) != string(block) && len(again) > len(block) {
			t.Errorf("%x became %x", block, again)
		}
	})
}
