package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func join(t *testing.T, db *store.DB, hub string, opts lease.Options) *lease.Leases {
	t.Helper()
	l, err := lease.Join(t.Context(), db, hub, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closed(t *testing.T, l *lease.Leases) {
	t.Helper()
	if err := l.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// long keeps a hub alive for the whole test; dead makes it dead as soon as it
// stops renewing, which it never does in time.
var (
	long = lease.Options{TTL: time.Hour}
	dead = lease.Options{TTL: time.Nanosecond, Renew: time.Hour}
)

func TestOneOwnerAtATime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := join(t, db, "a", long), join(t, db, "b", long)
		defer closed(t, a)
		defer closed(t, b)
		mine, err := a.Acquire(t.Context(), "task.1")
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Acquire(t.Context(), "task.1")
		var held *lease.HeldError
		if !errors.As(err, &held) || held.Owner != a.ID() {
			t.Fatalf("a second owner: %v", err)
		}
		if again, err := a.Acquire(t.Context(), "task.1"); err != nil || again != mine {
			t.Fatalf("asking again: %v %v", again, err)
		}
		if owner, err := b.Owner(t.Context(), "task.1"); err != nil || owner != a.ID() {
			t.Fatalf("owner %q, %v", owner, err)
		}
		if err := mine.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		theirs, err := b.Acquire(t.Context(), "task.1")
		if err != nil || theirs.Epoch() <= mine.Epoch() {
			t.Fatalf("after the release: %v, epoch %d then %d", err, mine.Epoch(), theirs.Epoch())
		}
	})
}

func TestStaleEpochCannotWrite(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "a", dead)
		defer a.Abandon()
		old, err := a.Acquire(t.Context(), "room.x")
		if err != nil {
			t.Fatal(err)
		}
		b := join(t, db, "b", long)
		defer closed(t, b)
		if names, err := b.Orphans(t.Context(), "room.", 10); err != nil || len(names) != 1 || names[0] != "room.x" {
			t.Fatalf("orphans %v, %v", names, err)
		}
		if _, err := b.Acquire(t.Context(), "room.x"); err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec(`INSERT INTO settings (name, value) VALUES ('stale', 'x')`); err != nil {
				return err
			}
			return old.Check(tx)
		})
		if !errors.Is(err, lease.ErrLost) {
			t.Fatalf("a stale owner wrote: %v", err)
		}
		select {
		case <-old.Lost():
		default:
			t.Fatal("the old owner was not told")
		}
		var n int
		if err := db.Read(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT count(*) FROM settings WHERE name = 'stale'`).Scan(&n)
		}); err != nil || n != 0 {
			t.Fatalf("%d stale rows, %v", n, err)
		}
	})
}

// The owner's name alone does not tell two holds of one hub apart: what its goroutine
// of before still wants to write must not slip in beside the present one.
func TestWhatAHubHeldBeforeCannotWriteAfterItTookItAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "a", long)
		defer closed(t, a)
		before, err := a.Acquire(t.Context(), "room.x")
		if err != nil {
			t.Fatal(err)
		}
		if err := before.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		now, err := a.Acquire(t.Context(), "room.x")
		if err != nil {
			t.Fatal(err)
		}
		if err := before.Verify(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("the hold of before may write: %v; wanted %v", err, lease.ErrLost)
		}
		if err := now.Verify(t.Context()); err != nil {
			t.Errorf("the present hold may not write: %v", err)
		}
	})
}

func TestRaceForOneLeaseHasOneWinner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const hubs = 8
		var wg sync.WaitGroup
		won := make(chan string, hubs)
		for i := range hubs {
			l := join(t, db, fmt.Sprint("hub", i), long)
			defer closed(t, l)
			wg.Go(func() {
				if _, err := l.Acquire(t.Context(), "place.sweep"); err == nil {
					won <- l.ID()
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d winners", len(won))
		}
	})
}

func TestRenewalKeepsTheLeaseAndSilenceLosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		a := join(t, db, "a", lease.Options{})
		b := join(t, db, "b", lease.Options{})
		defer closed(t, b)
		mine, err := a.Acquire(t.Context(), "task.1")
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if _, err := b.Acquire(t.Context(), "task.1"); err == nil || !mine.Certain() {
			t.Fatal("a living hub lost its lease")
		}
		a.Abandon()
		<-time.After(4 * time.Second)
		if mine.Certain() {
			t.Error("a silent hub is sure of what it had")
		}
		if _, err := b.Acquire(t.Context(), "task.1"); err != nil {
			t.Fatalf("a dead hub kept its lease: %v", err)
		}
	})
}

func TestHubLearnsThatItsLeaseWasTaken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "a", lease.Options{TTL: time.Hour, Renew: time.Millisecond})
		defer closed(t, a)
		mine, err := a.Acquire(t.Context(), "task.1")
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE leases SET owner = 'another', epoch = epoch + 1 WHERE name = 'task.1'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		<-mine.Lost()
	})
}

// A turn ended while the database was away: the lease could not be given back, and its
// hub lived on without the conversation, which nobody else could take.
func TestAFailedReleaseIsMadeUpFor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "a", lease.Options{TTL: time.Hour, Renew: 10 * time.Millisecond})
		b := join(t, db, "b", long)
		defer closed(t, a)
		defer closed(t, b)
		mine, err := a.Acquire(t.Context(), "talk.1")
		if err != nil {
			t.Fatal(err)
		}
		away, cancel := context.WithCancel(t.Context())
		cancel()
		if err := mine.Release(away); err == nil {
			t.Fatal("it was released; this test needs a release that fails")
		}
		for {
			theirs, err := b.Acquire(t.Context(), "talk.1")
			if err == nil {
				if theirs.Epoch() <= mine.Epoch() {
					t.Errorf("epoch %d after %d, want a later one", theirs.Epoch(), mine.Epoch())
				}
				return
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatalf("nobody frees what a living hub does not run: %v", err)
			}
		}
	})
}

// The hub wants back what it could not release: the making up must not take it away.
func TestWhatIsTakenAgainAfterAFailedReleaseStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := join(t, db, "a", lease.Options{TTL: time.Hour, Renew: time.Millisecond})
		defer closed(t, a)
		for range 50 {
			mine, err := a.Acquire(t.Context(), "talk.1")
			if err != nil {
				t.Fatal(err)
			}
			if err := mine.Verify(t.Context()); err != nil {
				t.Fatalf("a lease that was just taken: %v", err)
			}
			away, cancel := context.WithCancel(t.Context())
			cancel()
			_ = mine.Release(away) // fails
		}
	})
}

func TestLivingListsHubsThatLive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := join(t, db, "a", long), join(t, db, "b", dead)
		defer closed(t, a)
		b.Abandon()
		if hubs, err := a.Living(t.Context()); err != nil || !cmp.Equal(hubs, []string{a.ID()}) {
			t.Errorf("%v, %v; want %s alone", hubs, err, a.ID())
		}
	})
}

func TestAHubThatIsAloneNeedNotWaitForItsFormerLife(t *testing.T) {
	db := storetest.SQLite(t)
	former := join(t, db, "a", long)
	old, err := former.Acquire(t.Context(), "conversation.1")
	if err != nil {
		t.Fatal(err)
	}
	former.Abandon()
	now := join(t, db, "a", lease.Options{Alone: true})
	defer closed(t, now)
	mine, err := now.Acquire(t.Context(), "conversation.1")
	if err != nil || mine.Epoch() <= old.Epoch() {
		t.Errorf("%v, epochs %d and %d", err, old.Epoch(), mine.Epoch())
	}
}

func TestANewThingIsOwnedAndGivenUpInTheTransactionsThatMakeAndEndIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := join(t, db, "a", long), join(t, db, "b", long)
		defer closed(t, a)
		defer closed(t, b)
		undone := errors.New("undone")
		fresh := a.New("task.1")
		err := db.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(fresh.Claim(tx), undone) })
		if owner, _ := b.Owner(t.Context(), "task.1"); !errors.Is(err, undone) || owner != "" {
			t.Fatalf("a claim that was undone: %v, owner %q", err, owner)
		}
		if err := db.Write(t.Context(), fresh.Claim); err != nil {
			t.Fatal(err)
		}
		fresh.Claimed()
		if _, err := b.Acquire(t.Context(), "task.1"); err == nil {
			t.Error("a second owner")
		}
		if again, err := a.Acquire(t.Context(), "task.1"); err != nil || again != fresh {
			t.Errorf("asking again: %v, %v", again, err)
		}
		if err := db.Write(t.Context(), fresh.Check); err != nil {
			t.Errorf("its owner cannot write: %v", err)
		}
		if err := db.Write(t.Context(), fresh.RetireTx); err != nil {
			t.Fatal(err)
		}
		fresh.Retired()
		if err := db.Write(t.Context(), fresh.Check); !errors.Is(err, lease.ErrLost) {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestALonelyHubChecksManyLeasesAtOnceAndStillLosesThem(t *testing.T) {
	db := storetest.SQLite(t)
	a := join(t, db, "a", lease.Options{Alone: true})
	defer a.Abandon()
	var leases []*lease.Lease
	for i := range 20 {
		l, err := a.Acquire(t.Context(), fmt.Sprint("task.", i))
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	check := func() (lost []int) {
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			verdicts, err := lease.CheckAll(tx, leases)
			for i, v := range verdicts {
				if errors.Is(v, lease.ErrLost) {
					lost = append(lost, i)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return lost
	}
	if lost := check(); len(lost) != 0 {
		t.Errorf("lost %v", lost)
	}
	if err := leases[7].Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lost := check(); !cmp.Equal(lost, []int{7}) {
		t.Errorf("lost %v, given up 7", lost)
	}
	next := join(t, db, "a", lease.Options{Alone: true})
	defer closed(t, next)
	if _, err := next.Acquire(t.Context(), "task.3"); err != nil {
		t.Fatal(err)
	}
	if lost := check(); !cmp.Equal(lost, []int{3, 7}) {
		t.Errorf("lost %v, the next life has 3", lost)
	}
}

func TestMembersTellWhoLivesAndWhatEachHolds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := join(t, db, "a", long), join(t, db, "b", dead)
		defer closed(t, a)
		defer b.Abandon()
		for _, name := range []string{"task.1", "task.2", "room.x", "place.housekeeper", "alone"} {
			if _, err := a.Acquire(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Acquire(t.Context(), "task.3"); err != nil {
			t.Fatal(err)
		}
		gone := join(t, db, "c", dead)
		gone.Abandon()
		members, err := a.Members(t.Context())
		if err != nil || len(members) != 2 {
			t.Fatalf("%v, %v; want no error, len(members) to be 2", members, err)
		}
		want := []lease.Member{
			{ID: a.ID(), Alive: true, Holds: map[string]int64{"task": 2, "room": 1, "place": 1, "alone": 1}},
			{ID: b.ID(), Holds: map[string]int64{"task": 1}},
		}
		if diff := cmp.Diff(want, members, cmpopts.IgnoreFields(lease.Member{}, "Started", "Expires")); diff != "" {
			t.Error(diff)
		}
		if !members[0].Expires.After(members[0].Started) {
			t.Errorf("from %v to %v", members[0].Started, members[0].Expires)
		}
	})
}
