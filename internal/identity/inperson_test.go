package identity_test

import (
	"errors"
	"testing"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// A script with a token of an admin made itself a login link and was a person in person,
// whom nobody asks before a machine is changed. A page is at most what logged it in.
func TestAPageIsInPersonIfNoProgramIsInItsLine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		owner := must(w.Owner(t.Context()))(t)
		keys := newPasskeys(t, w)
		script := w.as(t, w.owner, identity.TokenRequest{Name: "script", Scopes: []string{"admin"}})

		first := w.page(t, identity.Local(owner))
		phone := newAuthenticator(t)
		register(t, keys, first.Actor, phone)
		robots := w.page(t, script)
		robot := newAuthenticator(t)
		register(t, keys, robots.Actor, robot)

		for name, c := range map[string]struct {
			login identity.Login
			want  bool
		}{
			"the link of the first start":        {first, true},
			"a link made with owner.token":       {w.page(t, w.owner), true},
			"opened with owner.token":            {must(w.OpenPage(t.Context(), w.owner, ""))(t), true},
			"a link made on such a page":         {w.page(t, first.Actor), true},
			"a passkey added on such a page":     {must(passkeyLogin(t, keys, phone))(t), true},
			"a link made with a script's token":  {robots, false},
			"opened with a script's token":       {must(w.OpenPage(t.Context(), script, ""))(t), false},
			"a link made on a script's page":     {w.page(t, robots.Actor), false},
			"a passkey added on a script's page": {must(passkeyLogin(t, keys, robot))(t), false},
			"a link made with a device's token":  {w.page(t, w.paired(t, first.Actor).Actor), false},
		} {
			again, err := w.AuthenticatePage(t.Context(), c.login.Cookie)
			if err != nil {
				t.Fatalf("%s: %v; want no error", name, err)
			}
			if c.login.Actor.InPerson != c.want || again.InPerson != c.want {
				t.Errorf("%s: in person %v when logging in and %v after, want %v", name, c.login.Actor.InPerson, again.InPerson, c.want)
			}
			if again.ForAgent("parley", identity.InTask, "t").InPerson {
				t.Errorf("%s: an agent acts in person", name)
			}
		}
	})
}

// What acts later acts with what is left of its maker's right: a schedule made on a page
// outlives the page and ends with what logged it in.
func TestWhatLastsStandsAndFallsWithItsMaker(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		script := w.token(t, w.owner, identity.TokenRequest{Name: "script", Scopes: []string{"talk", "fleet", "device:manage"}})
		by := w.mustAuthenticate(t, script.Secret)
		login := w.page(t, by)
		lasting := must(w.Lasting(t.Context(), login.Actor))(t)
		if err := w.ClosePage(t.Context(), login.Actor, login.Page.ID); err != nil {
			t.Fatal(err)
		}
		now := must(w.Standing(t.Context(), lasting))(t)
		if !now.Scopes.Equal(login.Actor.Scopes) || now.InPerson {
			t.Errorf("after logging out it may %v, want what the page could: %v", now.Scopes, login.Actor.Scopes)
		}
		if _, err := w.Standing(t.Context(), login.Actor); !errors.Is(err, identity.ErrRefused) {
			t.Errorf("the page itself still stands: %v", err)
		}
		if err := w.Revoke(t.Context(), w.owner, script.ID); err != nil {
			t.Fatal(err)
		}
		for name, who := range map[string]identity.Actor{"what the page made": lasting, "what the token made": by} {
			if _, err := w.Standing(t.Context(), who); !errors.Is(err, identity.ErrRefused) {
				t.Errorf("%s acts after the token was revoked: %v", name, err)
			}
		}
	})
}

// Somebody who came by a link of the hub itself has no maker to end with; taking all
// their credentials back ends what they left behind.
func TestWhatAPersonLeftEndsWithTheirLastCredential(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		link := must(w.CreateLink(t.Context(), identity.Local(must(w.Owner(t.Context()))(t)), identity.LinkRequest{Principal: "bob"}))(t)
		bob := must(w.RedeemLink(t.Context(), link.Secret, "", ""))(t)
		lasting := must(w.Lasting(t.Context(), bob.Actor))(t)
		must(w.Standing(t.Context(), lasting))(t)
		if err := w.RevokePerson(t.Context(), w.owner, "bob"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Standing(t.Context(), lasting); !errors.Is(err, identity.ErrRefused) {
			t.Errorf("bob has no credential left, and what he left behind acts: %v", err)
		}
	})
}
