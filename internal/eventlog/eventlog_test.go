package eventlog_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// TestMain keeps the property test to a length that fits into every run; give
// -rapid.checks for more.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "30")
	goleak.VerifyTestMain(m)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newLog(t *testing.T, db *store.DB) *eventlog.Log {
	t.Helper()
	b := bus.NewLocal()
	t.Cleanup(func() { _ = b.Close() })
	return eventlog.New(db, b, quiet())
}

func text(s string) eventlog.Event { return eventlog.Event{Kind: "text", Data: []byte(s)} }

func appended(t *testing.T, log *eventlog.Log, stream string, words ...string) int64 {
	t.Helper()
	events := make([]eventlog.Event, len(words))
	for i, w := range words {
		events[i] = text(w)
	}
	first, err := log.Append(t.Context(), nil, stream, events...)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// collect follows until n events came.
func collect(ctx context.Context, log *eventlog.Log, stream string, after int64, n int) (got []string, err error) {
	for ev, err := range log.Follow(ctx, stream, after) {
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%d:%s", ev.Seq, ev.Data))
		if len(got) == n {
			break
		}
	}
	return got, nil
}

func TestFollowReplaysThenGoesLive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := newLog(t, db)
		if first := appended(t, log, "task.1", "a", "b"); first != 1 {
			t.Fatalf("the first event is number %d", first)
		}
		var got []string
		for ev, err := range log.Follow(t.Context(), "task.1", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d:%s", ev.Seq, ev.Data))
			if len(got) == 2 {
				appended(t, log, "task.1", "c")
				appended(t, log, "task.1", "d", "e")
			}
			if len(got) == 5 {
				break
			}
		}
		if diff := cmp.Diff([]string{"1:a", "2:b", "3:c", "4:d", "5:e"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStreamsDoNotMix(t *testing.T) {
	log := newLog(t, storetest.SQLite(t))
	appended(t, log, "task.1", "a")
	appended(t, log, "task.2", "x", "y")
	appended(t, log, "task.1", "b")
	got, err := collect(t.Context(), log, "task.1", 0, 2)
	if diff := cmp.Diff([]string{"1:a", "2:b"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestEventsTooLargeForTheBusStillArrive(t *testing.T) {
	log := newLog(t, storetest.SQLite(t))
	big := strings.Repeat("x", 2<<20)
	appended(t, log, "s", "a")
	var sizes []int
	for ev, err := range log.Follow(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(ev.Data))
		if len(sizes) == 1 {
			appended(t, log, "s", big)
		}
		if len(sizes) == 2 {
			break
		}
	}
	if diff := cmp.Diff([]int{1, len(big)}, sizes); diff != "" {
		t.Error(diff)
	}
}

func TestTrimmedEventsAreNotSilentlySkipped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := newLog(t, db)
		appended(t, log, "s", "a", "b", "c", "d")
		if err := log.Trim(t.Context(), nil, "s", 3); err != nil {
			t.Fatal(err)
		}
		_, err := collect(t.Context(), log, "s", 0, 1)
		var trimmed *eventlog.TrimmedError
		if !errors.As(err, &trimmed) || trimmed.Oldest != 3 {
			t.Fatalf("reading what is gone: %v", err)
		}
		got, err := collect(t.Context(), log, "s", 2, 2)
		if diff := cmp.Diff([]string{"3:c", "4:d"}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if err := log.Trim(t.Context(), nil, "s", 99); err != nil {
			t.Fatal(err)
		}
		if b, err := log.Bounds(t.Context(), "s"); err != nil || b != (eventlog.Bounds{Oldest: 3, Last: 4}) {
			t.Errorf("trimming beyond the end left %+v, %v", b, err)
		}
	})
}

func TestCursorBeyondTheEndIsRefused(t *testing.T) {
	log := newLog(t, storetest.SQLite(t))
	appended(t, log, "s", "a")
	if _, err := collect(t.Context(), log, "s", 2, 1); !errors.Is(err, eventlog.ErrBadCursor) {
		t.Fatalf("got %v", err)
	}
}

func TestDeletedStreamStartsAnew(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := newLog(t, db)
		appended(t, log, "s", "a", "b")
		if err := log.Delete(t.Context(), nil, "s"); err != nil {
			t.Fatal(err)
		}
		if first := appended(t, log, "s", "c"); first != 1 {
			t.Errorf("after the deletion the first event is number %d", first)
		}
	})
}

func TestAppendWithoutTheLeaseWritesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := newLog(t, db)
		leases, err := lease.Join(t.Context(), db, "a", lease.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = leases.Close(context.WithoutCancel(t.Context())) }()
		mine, err := leases.Acquire(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if err := mine.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), mine, "s", text("late")); !errors.Is(err, lease.ErrLost) {
			t.Fatalf("got %v", err)
		}
		if b, err := log.Bounds(t.Context(), "s"); err != nil || b.Last != 0 {
			t.Errorf("%+v, %v; want no error, b.Last to be 0", b, err)
		}
	})
}
