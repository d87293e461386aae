package eventlog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/eventlog"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// condensed makes one event of those in words, for the numbers from first on.
func condensed(first int64, words ...string) eventlog.Event {
	return eventlog.Event{From: first, Seq: first + int64(len(words)) - 1, Kind: "texts", Data: []byte(strings.Join(words, ""))}
}

func numbered(seq int64, word string) eventlog.Event {
	ev := text(word)
	ev.Seq = seq
	return ev
}

func TestACondensedStreamKeepsItsNumbers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := newLog(t, db)
		log.UseJournal(1, 2) // some events are in the journal, some in runs
		for _, w := range []string{"a", "b", "c", "d", "e", "f"} {
			appended(t, log, "s", w)
		}
		if err := log.Condense(t.Context(), nil, "s", []eventlog.Event{condensed(1, "a", "b", "c"), numbered(4, "d")}); err != nil {
			t.Fatal(err)
		}
		appended(t, log, "s", "g")
		for after, want := range [][]string{
			{"1-3:abc", "4:d", "5:e", "6:f", "7:g"},
			{"1-3:abc", "4:d", "5:e", "6:f", "7:g"},
			{"1-3:abc", "4:d", "5:e", "6:f", "7:g"},
			{"4:d", "5:e", "6:f", "7:g"},
			{"5:e", "6:f", "7:g"},
		} {
			var got []string
			for ev, err := range log.Follow(t.Context(), "s", int64(after)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, show(ev))
				if ev.Seq == 7 {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after %d: %s", after, diff)
			}
		}
		if b, err := log.Bounds(t.Context(), "s"); err != nil || b != (eventlog.Bounds{Oldest: 1, Last: 7}) {
			t.Errorf("%+v %v", b, err)
		}
	})
}

func show(ev eventlog.Event) string {
	if ev.From > 0 {
		return fmt.Sprintf("%d-%d:%s", ev.From, ev.Seq, ev.Data)
	}
	return fmt.Sprintf("%d:%s", ev.Seq, ev.Data)
}

func TestWhatDoesNotCoverTheBeginningIsNotCondensed(t *testing.T) {
	log := newLog(t, storetest.SQLite(t))
	appended(t, log, "s", "a", "b", "c")
	for name, events := range map[string][]eventlog.Event{
		"not from the oldest": {condensed(2, "b", "c")},
		"a gap":               {numbered(1, "a"), numbered(3, "c")},
		"an overlap":          {condensed(1, "a", "b"), condensed(2, "b", "c")},
		"beyond the end":      {condensed(1, "a", "b", "c", "d")},
	} {
		if err := log.Condense(t.Context(), nil, "s", events); !errors.Is(err, eventlog.ErrBadCondense) {
			t.Errorf("%s: %v; want eventlog.ErrBadCondense", name, err)
		}
	}
	if got, err := collect(t.Context(), log, "s", 0, 3); err != nil || len(got) != 3 {
		t.Error(got, err)
	}
}

// Whatever was appended, moved, condensed, trimmed and reopened: a reader from any
// number gets every later event once, by itself or inside of a condensed one.
func TestCondensingLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db := storetest.SQLite(t)
		defer func() { _ = db.Close() }()
		var log *eventlog.Log
		reopen := func() {
			log = newLog(t, db)
			log.UseJournal(rapid.IntRange(1, 2).Draw(rt, "from"), rapid.IntRange(0, 20).Draw(rt, "most"))
		}
		reopen()
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		last, oldest := int64(0), int64(1)
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				_, err := log.Append(t.Context(), nil, "s", text("."), text("."))
				check(err)
				last += 2
			},
			"append in a transaction": func(*rapid.T) {
				check(db.Write(t.Context(), func(tx *store.Tx) error {
					_, err := log.AppendTx(tx, nil, "s", text("."))
					return err
				}))
				last++
			},
			"condense": func(rt *rapid.T) {
				events, err := log.Read(t.Context(), "s", oldest-1, rapid.IntRange(1, 20).Draw(rt, "most"))
				check(err)
				if len(events) == 0 {
					return
				}
				to := events[len(events)-1].Seq
				check(log.Condense(t.Context(), nil, "s", []eventlog.Event{condensed(oldest, strings.Split(strings.Repeat(".", int(to-oldest+1)), "")...)}))
			},
			"trim": func(rt *rapid.T) {
				oldest = rapid.Int64Range(oldest, last+1).Draw(rt, "keep")
				check(log.Trim(t.Context(), nil, "s", oldest))
			},
			"reopen": func(*rapid.T) { reopen() },
			"": func(rt *rapid.T) {
				after := rapid.Int64Range(oldest-1, last).Draw(rt, "after")
				limit := rapid.IntRange(1, 9).Draw(rt, "limit")
				events, err := log.Read(t.Context(), "s", after, limit)
				check(err)
				at := after
				for _, ev := range events {
					first := ev.Seq
					if ev.From > 0 {
						first = ev.From
					}
					if first > at+1 || ev.Seq <= at || len(ev.Data) != int(ev.Seq-first+1) {
						rt.Fatalf("%s after %d", show(ev), at)
					}
					at = ev.Seq
				}
				if at < min(last, after+int64(limit)) || at > last {
					rt.Fatalf("after %d the last of %d was %d, of %d", after, limit, at, last)
				}
			},
		})
	})
}
