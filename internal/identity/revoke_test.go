package identity_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// closed waits for a tracked session to be closed and returns why.
func closed(t *testing.T, reasons <-chan identity.Reason) identity.Reason {
	t.Helper()
	select {
	case r := <-reasons:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("the session was not closed")
		return ""
	}
}

func track(d *identity.Directory, s identity.Actor) (<-chan identity.Reason, *identity.Live) {
	reasons := make(chan identity.Reason, 2)
	return reasons, d.Track(s, func(r identity.Reason) { reasons <- r })
}

func TestRevocationClosesLiveSessionsOnEveryHub(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		shared := newBus(t)
		peer := shared.Peer()
		t.Cleanup(func() { _ = peer.Close() })
		// The recheck is far away, so only the bus can be quick.
		here := open(t, db, shared, identity.Options{Recheck: time.Hour})
		there := open(t, db, peer, identity.Options{Recheck: time.Hour})
		first, err := here.Bootstrap(t.Context(), "owner")
		if err != nil {
			t.Fatal(err)
		}
		owner, err := here.Authenticate(t.Context(), first.Secret)
		if err != nil {
			t.Fatal(err)
		}
		issued, err := here.CreateToken(t.Context(), owner, identity.TokenRequest{})
		if err != nil {
			t.Fatal(err)
		}
		who, err := there.Authenticate(t.Context(), issued.Secret)
		if err != nil {
			t.Fatal(err)
		}
		near, _ := track(here, who)
		far, _ := track(there, who)
		other, live := track(there, owner)
		if err := here.Revoke(t.Context(), owner, issued.ID); err != nil {
			t.Fatal(err)
		}
		for _, reasons := range []<-chan identity.Reason{near, far} {
			if r := closed(t, reasons); r != identity.Revoked {
				t.Errorf("closed for %q", r)
			}
		}
		_, err = there.Authenticate(t.Context(), issued.Secret)
		wantReason(t, err, identity.Revoked)
		live.Release()
		if len(other) != 0 || there.Tracked() != 0 {
			t.Error("another token's session was touched, or sessions leak")
		}
	})
}

func TestALostBusMessageIsCaughtByTheRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		w := newWorld(t, db)
		// A hub that shares the database but hears nothing.
		deaf := open(t, db, newBus(t), identity.Options{})
		issued := w.token(t, w.owner, identity.TokenRequest{})
		who, err := deaf.Authenticate(t.Context(), issued.Secret)
		if err != nil {
			t.Fatal(err)
		}
		reasons, _ := track(deaf, who)
		start := time.Now()
		if err := w.Revoke(t.Context(), w.owner, issued.ID); err != nil {
			t.Fatal(err)
		}
		if r := <-reasons; r != identity.Revoked || time.Since(start) > time.Second {
			t.Errorf("closed for %q after %v", r, time.Since(start))
		}
		_, err = deaf.Authenticate(t.Context(), issued.Secret)
		wantReason(t, err, identity.Revoked)
	})
}

func TestARotationOnAnotherHubEndsTheOldSecretHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		w := newWorld(t, db)
		deaf := open(t, db, newBus(t), identity.Options{})
		issued := w.token(t, w.owner, identity.TokenRequest{})
		if _, err := deaf.Authenticate(t.Context(), issued.Secret); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Rotate(t.Context(), w.owner, issued.ID, false); err != nil {
			t.Fatal(err)
		}
		<-time.After(identity.RotationGrace + time.Second)
		_, err := deaf.Authenticate(t.Context(), issued.Secret)
		wantReason(t, err, identity.Expired)
	})
}

func TestASessionTrackedAfterItsRevocationIsClosed(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	issued := w.token(t, w.owner, identity.TokenRequest{})
	who := w.mustAuthenticate(t, issued.Secret)
	if err := w.Revoke(t.Context(), w.owner, issued.ID); err != nil {
		t.Fatal(err)
	}
	reasons, _ := track(w.Directory, who)
	if r := closed(t, reasons); r != identity.Revoked {
		t.Errorf("closed for %q", r)
	}
}

func TestAuthenticationNeverOutlivesARevocationInARace(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	for range 50 {
		issued := w.token(t, w.owner, identity.TokenRequest{})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { _, _ = w.Authenticate(t.Context(), issued.Secret) })
		}
		group.Go(func() {
			if err := w.Revoke(t.Context(), w.owner, issued.ID); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		_, err := w.Authenticate(t.Context(), issued.Secret)
		wantReason(t, err, identity.Revoked)
	}
}

func TestALiveSessionEndsWhenItExpiresAndMayBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		who := w.owner
		who.Expires = time.Now().Add(time.Hour)
		reasons, live := track(w.Directory, who)
		<-time.After(59 * time.Minute)
		live.Renew(time.Now().Add(time.Hour))
		<-time.After(59 * time.Minute)
		if len(reasons) != 0 {
			t.Fatal("closed early")
		}
		start := time.Now()
		if r := <-reasons; r != identity.SessionExpired || time.Since(start) != time.Minute {
			t.Errorf("closed for %q after %v", r, time.Since(start))
		}
		released, gone := track(w.Directory, who)
		gone.Release()
		live.Release()
		synctest.Wait()
		if len(released) != 0 || len(reasons) != 0 {
			t.Error("closed twice or after its release")
		}
	})
}

func TestAHubThatCannotAskForRevocationsTrustsNothingInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		w := newWorld(t, db)
		stuck := open(t, db, newBus(t), identity.Options{Recheck: time.Hour})
		issued := w.token(t, w.owner, identity.TokenRequest{})
		if _, err := stuck.Authenticate(t.Context(), issued.Secret); err != nil {
			t.Fatal(err)
		}
		if err := w.Revoke(t.Context(), w.owner, issued.ID); err != nil {
			t.Fatal(err)
		}
		<-time.After(6 * time.Second)
		_, err := stuck.Authenticate(t.Context(), issued.Secret)
		wantReason(t, err, identity.Revoked)
	})
}

func TestRevokingAPersonEndsEverythingOfTheirs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		issued := w.token(t, w.owner, identity.TokenRequest{Principal: "alice"})
		alice := w.mustAuthenticate(t, issued.Secret)
		login, err := w.OpenPage(ctx, alice, "browser")
		if err != nil {
			t.Fatal(err)
		}
		reasons, _ := track(w.Directory, login.Actor)
		if err := w.RevokePerson(ctx, alice, "alice"); !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("by herself: %v", err)
		}
		if err := w.RevokePerson(ctx, w.owner, "alice"); err != nil {
			t.Fatal(err)
		}
		closed(t, reasons)
		_, err = w.Authenticate(ctx, issued.Secret)
		wantReason(t, err, identity.Revoked)
		_, err = w.AuthenticatePage(ctx, login.Cookie)
		wantReason(t, err, identity.Revoked)
		w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "alice"}).Secret)
		if err := w.RevokePerson(ctx, w.owner, "owner"); !errors.Is(err, identity.ErrInvalid) {
			t.Errorf("the owner: %v", err)
		}
	})
}

func TestABusThatFailsDoesNotUndoARevocation(t *testing.T) {
	b := bus.NewLocal()
	db := storetest.SQLite(t)
	dir := open(t, db, b, identity.Options{})
	first, err := dir.Bootstrap(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dir.Revoke(t.Context(), identity.Local(first.Owner), first.TokenID); err != nil {
		t.Fatal(err)
	}
	_, err = dir.Authenticate(t.Context(), first.Secret)
	wantReason(t, err, identity.Revoked)
}
