package identity_test

import (
	"errors"
	"testing"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/passkeytest"
)

// newAuthenticator is a passkey for the hub of these tests.
func newAuthenticator(t *testing.T) *passkeytest.Device {
	t.Helper()
	return passkeytest.New(t, "hub.example", "https://hub.example")
}

func newPasskeys(t *testing.T, w *world) *identity.Passkeys {
	t.Helper()
	p, err := identity.NewPasskeys(w.Directory, identity.RelyingParty{ID: "hub.example", Name: "Parley", Origins: []string{"https://hub.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func register(t *testing.T, keys *identity.Passkeys, by identity.Actor, a *passkeytest.Device) identity.Passkey {
	t.Helper()
	c, err := keys.BeginRegister(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.FinishRegister(t.Context(), by, c.ID, "laptop", a.Create(t, c.Options))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAPasskeyLogsItsPersonIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		keys := newPasskeys(t, w)
		alice := w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "alice", Scopes: []string{"task", "device"}}).Secret)
		device := newAuthenticator(t)
		key := register(t, keys, alice, device)
		for range 2 {
			c, err := keys.BeginLogin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			login, err := keys.FinishLogin(ctx, c.ID, device.Get(t, c.Options), "browser", "10.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			who, err := w.AuthenticatePage(ctx, login.Cookie)
			if err != nil || who.Person != alice.Person || !who.Scopes.Equal(alice.Scopes) {
				t.Errorf("%+v, %v; want no error, who.Person to be %v, who.Scopes.Equal(alice.Scopes)", who, err, alice.Person)
			}
		}
		listed, err := keys.List(ctx, alice)
		if err != nil || len(listed) != 1 || listed[0].Name != "laptop" || listed[0].LastUsed.IsZero() {
			t.Errorf("%+v, %v; want no error, len(listed) to be 1, listed[0].Name to be \"laptop\", not listed[0].LastUsed.IsZero()", listed, err)
		}
		bob := w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "bob"}).Secret)
		if err := keys.Remove(ctx, bob, key.ID); !errors.Is(err, identity.ErrNotFound) {
			t.Errorf("bob removes alice's: %v", err)
		}
		if err := keys.Remove(ctx, alice, key.ID); err != nil {
			t.Fatal(err)
		}
		c, err := keys.BeginLogin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, err = keys.FinishLogin(ctx, c.ID, device.Get(t, c.Options), "", "")
		wantReason(t, err, identity.Unknown)
	})
}

func TestBadPasskeysAreRefused(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	keys, ctx := newPasskeys(t, w), t.Context()
	device := newAuthenticator(t)
	register(t, keys, w.owner, device)
	begin := func() identity.Ceremony {
		c, err := keys.BeginLogin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	login := func(c identity.Ceremony, response []byte) error {
		_, err := keys.FinishLogin(ctx, c.ID, response, "", "")
		return err
	}
	one, two := begin(), begin()
	wantReason(t, login(one, device.Get(t, two.Options)), identity.BadPasskey)
	wantReason(t, login(one, device.Get(t, one.Options)), identity.Unknown) // a challenge is answered once
	wantReason(t, login(begin(), []byte("{}")), identity.BadPasskey)

	device.Origin = "https://evil.example"
	c := begin()
	wantReason(t, login(c, device.Get(t, c.Options)), identity.BadPasskey)
	device.Origin = "https://hub.example"

	c = begin()
	if err := login(c, device.Get(t, c.Options)); err != nil {
		t.Fatal(err)
	}
	device.Count = 0
	c = begin()
	wantReason(t, login(c, device.Get(t, c.Options)), identity.ClonedPasskey)

	impostor := device.Impostor(t)
	c = begin()
	wantReason(t, login(c, impostor.Get(t, c.Options)), identity.BadPasskey)

	if _, err := keys.BeginRegister(ctx, identity.Actor{}); !errors.Is(err, identity.ErrForbidden) {
		t.Errorf("nobody registers: %v", err)
	}
	again, err := keys.BeginRegister(ctx, w.owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = keys.FinishRegister(ctx, identity.Actor{}, again.ID, "", newAuthenticator(t).Create(t, again.Options)); !errors.Is(err, identity.ErrForbidden) {
		t.Errorf("nobody finishes what the owner began: %v", err)
	}
	bob := w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "bob"}).Secret)
	_, err = keys.FinishRegister(ctx, bob, again.ID, "", newAuthenticator(t).Create(t, again.Options))
	wantReason(t, err, identity.Unknown)
}

func TestWhatEndedLongAgoIsForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		link, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		exec(t, db, `UPDATE login_links SET expires_at = 1`)
		if err := identity.Purge(t.Context(), w.Directory); err != nil {
			t.Fatal(err)
		}
		_, err = w.RedeemLink(t.Context(), link.Secret, "", "")
		wantReason(t, err, identity.Unknown)
		w.mustAuthenticate(t, w.secret)
	})
}
