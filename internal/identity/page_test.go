package identity_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store/storetest"
)

func TestALoginLinkIsUsedOnceAlsoInARace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		link, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		logins := make([]identity.Login, 8)
		results := make([]error, len(logins))
		var group sync.WaitGroup
		for i := range logins {
			group.Go(func() { logins[i], results[i] = w.RedeemLink(t.Context(), link.Secret, "browser", "10.0.0.1") })
		}
		group.Wait()
		won := 0
		for i, err := range results {
			if err != nil {
				wantReason(t, err, identity.Used)
				continue
			}
			won++
			who, err := w.AuthenticatePage(t.Context(), logins[i].Cookie)
			if err != nil || !who.Owner || !who.Admin() || who.PageID == "" || who.TokenID != "" {
				t.Errorf("page session %+v, %v", who, err)
			}
		}
		if won != 1 {
			t.Errorf("%d logins", won)
		}
		_, err = w.RedeemLink(t.Context(), "prk_nonsense", "", "")
		wantReason(t, err, identity.Malformed)
	})
}

func TestALinkForSomebodyElseNeedsAdminAndGivesNoAdmin(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		link, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{Principal: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		login, err := w.RedeemLink(t.Context(), link.Secret, "", "")
		if err != nil || login.Actor.Person.Name != "alice" || login.Actor.Admin() || login.Actor.Owner {
			t.Fatalf("%+v, %v; want no error, login.Actor.Person.Name to be \"alice\", not login.Actor.Admin(), not login.Actor.Owner", login.Actor, err)
		}
		if _, err := w.CreateLink(t.Context(), login.Actor, identity.LinkRequest{Principal: "bob"}); !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("alice for bob: %v", err)
		}
	})
}

func TestALinkExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		used, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		unused, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(14*time.Minute + 59*time.Second)
		if _, err := w.RedeemLink(t.Context(), used.Secret, "", ""); err != nil {
			t.Errorf("a link used within its fifteen minutes: %v", err)
		}
		<-time.After(time.Second)
		_, err = w.RedeemLink(t.Context(), unused.Secret, "", "")
		wantReason(t, err, identity.Expired)
	})
}

func TestAPageEndsWithItsToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		issued := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"task", "device"}})
		login, err := w.OpenPage(t.Context(), w.mustAuthenticate(t, issued.Secret), "browser")
		if err != nil {
			t.Fatal(err)
		}
		who, err := w.AuthenticatePage(t.Context(), login.Cookie)
		if err != nil || !who.Scopes.Equal(issued.Scopes) || who.TokenID != issued.ID {
			t.Fatalf("%+v, %v; want no error, who.Scopes.Equal(issued.Scopes), who.TokenID to be %v", who, err, issued.ID)
		}
		reasons, _ := track(w.Directory, who)
		if stands, err := w.PageStands(t.Context(), who.PageID); err != nil || !stands {
			t.Errorf("before: stands %v, %v", stands, err)
		}
		if err := w.Revoke(t.Context(), w.owner, issued.ID); err != nil {
			t.Fatal(err)
		}
		closed(t, reasons)
		_, err = w.AuthenticatePage(t.Context(), login.Cookie)
		wantReason(t, err, identity.Revoked)
		if stands, err := w.PageStands(t.Context(), who.PageID); err != nil || stands {
			t.Errorf("after: stands %v, %v", stands, err)
		}
	})
}

func TestLoggingOutClosesThePageOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		login, err := w.OpenPage(t.Context(), w.owner, "browser")
		if err != nil {
			t.Fatal(err)
		}
		reasons, _ := track(w.Directory, login.Actor)
		if pages, err := w.Pages(t.Context(), w.owner); err != nil || len(pages) != 1 || pages[0].Agent != "browser" {
			t.Errorf("pages %+v, %v", pages, err)
		}
		if err := w.ClosePage(t.Context(), login.Actor, login.Page.ID); err != nil {
			t.Fatal(err)
		}
		closed(t, reasons)
		_, err = w.AuthenticatePage(t.Context(), login.Cookie)
		wantReason(t, err, identity.Revoked)
		w.mustAuthenticate(t, w.secret)
		if pages, err := w.Pages(t.Context(), w.owner); err != nil || len(pages) != 0 {
			t.Errorf("pages %+v, %v", pages, err)
		}
	})
}

func TestAPageEndsByIdlenessAndByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		idle, err := w.OpenPage(t.Context(), w.owner, "idle")
		if err != nil {
			t.Fatal(err)
		}
		busy, err := w.OpenPage(t.Context(), w.owner, "busy")
		if err != nil {
			t.Fatal(err)
		}
		day := 24 * time.Hour
		for range 5 {
			<-time.After(5 * day)
			if _, err := w.AuthenticatePage(t.Context(), busy.Cookie); err != nil {
				t.Fatalf("a busy page: %v", err)
			}
		}
		_, err = w.AuthenticatePage(t.Context(), idle.Cookie)
		wantReason(t, err, identity.Expired)
		<-time.After(5 * day)
		_, err = w.AuthenticatePage(t.Context(), busy.Cookie)
		wantReason(t, err, identity.Expired)
	})
}

func TestCSRFBelongsToItsCookie(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	one, err := w.OpenPage(t.Context(), w.owner, "")
	if err != nil {
		t.Fatal(err)
	}
	two, err := w.OpenPage(t.Context(), w.owner, "")
	if err != nil {
		t.Fatal(err)
	}
	if !identity.CheckCSRF(one.Cookie, one.CSRF) || identity.CheckCSRF(one.Cookie, two.CSRF) || identity.CheckCSRF(one.Cookie, "") || identity.CSRF(two.Cookie) != two.CSRF {
		t.Error("CSRF tokens are mixed up")
	}
}

func TestCredentialsOfOneKindAreNotTakenForAnother(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	login, err := w.OpenPage(t.Context(), w.owner, "")
	if err != nil {
		t.Fatal(err)
	}
	link, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{login.Cookie, link.Secret} {
		_, err := w.Authenticate(t.Context(), secret)
		wantReason(t, err, identity.Malformed)
	}
	_, err = w.AuthenticatePage(t.Context(), w.secret)
	wantReason(t, err, identity.Malformed)
}

func TestActsOnCredentialsAreAudited(t *testing.T) {
	db := storetest.SQLite(t)
	seen := &trail{}
	dir := open(t, db, newBus(t), identity.Options{Audit: seen})
	first, err := dir.Bootstrap(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	owner := identity.Local(first.Owner)
	owner.Address = "127.0.0.1"
	issued, err := dir.CreateToken(t.Context(), owner, identity.TokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Rotate(t.Context(), owner, issued.ID, true); err != nil {
		t.Fatal(err)
	}
	if err := dir.Revoke(t.Context(), owner, issued.ID); err != nil {
		t.Fatal(err)
	}
	want := []audit.Action{audit.TokenCreated, audit.TokenCreated, audit.TokenRotated, audit.TokenRevoked}
	if len(seen.entries) != len(want) {
		t.Fatalf("entries %+v", seen.entries)
	}
	for i, e := range seen.entries {
		if e.Action != want[i] || (i > 0 && (e.Target != issued.ID || e.Actor != "person:owner" || e.Detail["by_address"] != "127.0.0.1")) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}

func TestPeople(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		alice, err := w.AddPerson(t.Context(), w.owner, "alice")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddPerson(t.Context(), w.owner, "alice"); !errors.Is(err, identity.ErrNameTaken) {
			t.Errorf("twice: %v", err)
		}
		for _, key := range []string{"alice", alice.ID} {
			if p, err := w.Person(t.Context(), key); err != nil || p.Name != "alice" {
				t.Errorf("%q: %+v, %v; want no error, p.Name to be \"alice\"", key, p, err)
			}
		}
		if _, err := w.Person(t.Context(), "nobody"); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
		if everybody, err := w.People(t.Context()); err != nil || len(everybody) != 2 {
			t.Errorf("%+v, %v; want no error, len(everybody) to be 2", everybody, err)
		}
		if owner, err := w.Owner(t.Context()); err != nil || owner.Name != "owner" || !owner.Owner {
			t.Errorf("%+v, %v; want no error, owner.Name to be \"owner\", owner.Owner", owner, err)
		}
	})
}
