package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// A hub without a bus joined a living cluster in silence: conversations that it took could
// not be reached from the others.
func TestHubsThatCannotHearEachOtherDoNotShareADatabase(t *testing.T) {
	brief := lease.Options{TTL: 50 * time.Millisecond, Renew: 5 * time.Millisecond}
	apart := lease.Options{TTL: time.Hour, Apart: true}
	deaf := brief
	deaf.Apart = true
	for name, c := range map[string]struct{ first, second lease.Options }{
		"a deaf one comes to a cluster": {long, deaf},
		"a cluster comes to a deaf one": {apart, brief},
		"two deaf ones":                 {apart, deaf},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				first := join(t, db, "first", c.first)
				defer closed(t, first)
				_, err := lease.Join(t.Context(), db, "second", c.second)
				refused, ok := errors.AsType[*lease.ApartError](err)
				if !ok || refused.Hub != first.ID() {
					t.Fatalf("the second hub was told %v, want a refusal that names %s", err, first.ID())
				}
			})
		})
	}
}

// What a hub without a bus left when it was killed does not keep its next life out for ever.
func TestADeafHubWaitsForItsFormerLifeToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		former := join(t, db, "a", lease.Options{Apart: true})
		former.Abandon()
		began := time.Now()
		next := join(t, db, "a", lease.Options{Apart: true, Former: former.ID()})
		if waited := time.Since(began); waited != 0 {
			t.Errorf("a hub that knows its former life waited %v for it", waited)
		}
		next.Abandon()
		closed(t, join(t, db, "a", lease.Options{Apart: true}))
	})
}

// wire is a bus that can be cut.
type wire struct{ cut atomic.Bool }

func (w *wire) options() lease.Options {
	return lease.Options{Hears: func() error {
		if w.cut.Load() {
			return errors.New("cut")
		}
		return nil
	}}
}

func isCutOff(l *lease.Leases) bool {
	select {
	case <-l.CutOff():
		return true
	default:
		return false
	}
}

func TestAHubThatAloneHearsNobodyGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		var toA, toB wire
		a, b := join(t, db, "a", toA.options()), join(t, db, "b", toB.options())
		defer a.Close(context.Background())
		defer b.Close(context.Background())
		toA.cut.Store(true)
		<-time.After(9 * time.Second)
		if isCutOff(a) {
			t.Error("the hub gave way before ten seconds without its bus were over")
		}
		toA.cut.Store(false)
		<-time.After(9 * time.Second)
		toA.cut.Store(true)
		<-time.After(9 * time.Second)
		if isCutOff(a) {
			t.Error("the hub gave way for two short outages, which are not one long one")
		}
		<-time.After(4 * time.Second)
		if !isCutOff(a) || isCutOff(b) {
			t.Errorf("cut off: %v and %v, want the one without its bus alone", isCutOff(a), isCutOff(b))
		}
	})
}

func TestWhileNobodyHearsAnybodyEveryHubKeepsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		var bus wire
		a, b := join(t, db, "a", bus.options()), join(t, db, "b", bus.options())
		defer a.Close(context.Background())
		defer b.Close(context.Background())
		bus.cut.Store(true)
		<-time.After(time.Minute)
		if isCutOff(a) || isCutOff(b) {
			t.Error("a hub gave way although no other could have taken over")
		}
	})
}

func TestAHubThatDiedLongAgoIsNotListedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		a, b := join(t, db, "a", lease.Options{}), join(t, db, "b", lease.Options{})
		defer closed(t, a)
		if _, err := b.Acquire(t.Context(), "talk.1"); err != nil {
			t.Fatal(err)
		}
		b.Abandon()
		for _, c := range []struct {
			wait time.Duration
			want int
		}{{59 * time.Minute, 2}, {3 * time.Minute, 1}} {
			<-time.After(c.wait)
			if members, err := a.Members(t.Context()); err != nil || len(members) != c.want {
				t.Errorf("%d hubs are listed (%v), want %d", len(members), err, c.want)
			}
		}
	})
}
