package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/eventlog"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// soon appends without waiting and gives what it was told.
func soon(log *eventlog.Log, guard eventlog.Guard, stream string, words ...string) func() (int64, error) {
	events := make([]eventlog.Event, len(words))
	for i, w := range words {
		events[i] = text(w)
	}
	var first int64
	var failed error
	done := make(chan struct{})
	log.AppendSoon(guard, stream, func(n int64, err error) {
		first, failed = n, err
		close(done)
	}, events...)
	return func() (int64, error) {
		<-done
		return first, failed
	}
}

func TestWhoDoesNotWaitIsToldTheNumbers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := newLog(t, db)
		var answers []func() (int64, error)
		for i := range 40 {
			answers = append(answers, soon(log, nil, fmt.Sprintf("s%d", i), "a", "b"))
		}
		for i, answer := range answers {
			if first, err := answer(); first != 1 || err != nil {
				t.Errorf("s%d: %d %v; want no error, 1", i, first, err)
			}
		}
		// Whoever waits is not held up by those who do not, and comes after them.
		second := soon(log, nil, "s3", "c")
		if first := appended(t, log, "s3", "d"); first != 4 {
			t.Errorf("an append got number %d", first)
		}
		if first, err := second(); first != 3 || err != nil {
			t.Errorf("%d %v; want no error, 3", first, err)
		}
		got, err := collect(t.Context(), log, "s3", 0, 4)
		if diff := cmp.Diff([]string{"1:a", "2:b", "3:c", "4:d"}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestWhoDoesNotWaitIsToldOfALostLease(t *testing.T) {
	db := storetest.SQLite(t)
	log := newLog(t, db)
	leases, err := lease.Join(t.Context(), db, "a", lease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leases.Close(context.WithoutCancel(t.Context())) }()
	var wg sync.WaitGroup
	for i := range 30 {
		stream := fmt.Sprintf("s%d", i)
		mine, err := leases.Acquire(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		lost := i == 7
		if lost {
			if err := mine.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		answer := soon(log, mine, stream, "x")
		wg.Go(func() {
			if _, err := answer(); lost != errors.Is(err, lease.ErrLost) || !lost && err != nil {
				t.Errorf("%s: %v", stream, err)
			}
		})
	}
	wg.Wait()
}

func TestNamesThatNeedEscapingAreNumberedLikeOthers(t *testing.T) {
	log := newLog(t, storetest.SQLite(t))
	log.UseJournal(1, 100)
	names := []string{`quo"te`, `back\slash`, "caf\u00e9", "new\nline", "plain", "plain2", "plain3", "plain4", "plain5", "plain6"}
	for round := range int64(3) {
		answers := map[string]func() (int64, error){}
		for i := range names {
			if round == 1 && i < 4 {
				continue // a group with plain names only
			}
			answers[names[i]] = soon(log, nil, names[i], "x")
		}
		for name, answer := range answers {
			want := round + 1
			if round == 2 && !plain(name) {
				want = 2
			}
			if first, err := answer(); first != want || err != nil {
				t.Errorf("%q: %d %v, want %d", name, first, err, want)
			}
		}
	}
}

func plain(name string) bool { return name[:2] == "pl" }

// A log that believes to know where streams are finds out when another has written.
func TestAStreamThatAnotherLogHasWrittenToGoesOnWhereItIs(t *testing.T) {
	db := storetest.SQLite(t)
	one, other := newLog(t, db), newLog(t, db)
	all := func(log *eventlog.Log, want func(i int) int64) {
		t.Helper()
		var answers []func() (int64, error)
		for i := range 20 {
			answers = append(answers, soon(log, nil, fmt.Sprint("s", i), "x"))
		}
		for i, answer := range answers {
			if first, err := answer(); first != want(i) || err != nil {
				t.Errorf("s%d: %d %v, want %d", i, first, err, want(i))
			}
		}
	}
	all(one, func(int) int64 { return 1 })
	all(one, func(int) int64 { return 2 })
	appended(t, other, "s4", "y")
	all(one, func(i int) int64 { return 3 + number(i == 4) })
	if err := other.Delete(t.Context(), nil, "s19"); err != nil {
		t.Fatal(err)
	}
	appended(t, other, "elsewhere", "takes the id")
	all(one, func(i int) int64 { return map[bool]int64{true: 1, false: 4 + number(i == 4)}[i == 19] })
	all(one, func(i int) int64 { return map[bool]int64{true: 2, false: 5 + number(i == 4)}[i == 19] })
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
