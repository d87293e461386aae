package identity_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/passkeytest"
)

// as makes a token and is its session.
func (w *world) as(t *testing.T, by identity.Actor, req identity.TokenRequest) identity.Actor {
	t.Helper()
	return w.mustAuthenticate(t, w.token(t, by, req).Secret)
}

// page logs a browser in by a link that by makes.
func (w *world) page(t *testing.T, by identity.Actor, scopes ...string) identity.Login {
	t.Helper()
	link, err := w.CreateLink(t.Context(), by, identity.LinkRequest{Scopes: scopes})
	if err != nil {
		t.Fatalf("making a login link: %v", err)
	}
	login, err := w.RedeemLink(t.Context(), link.Secret, "browser", "")
	if err != nil {
		t.Fatalf("redeeming a login link: %v", err)
	}
	return login
}

// paired is a device that by pairs.
func (w *world) paired(t *testing.T, by identity.Actor, scopes ...string) identity.Paired {
	t.Helper()
	code := w.token(t, by, identity.TokenRequest{Pairing: true, Scopes: scopes})
	out, err := w.Pair(t.Context(), identity.PairRequest{Secret: code.Secret, PublicKey: public(newKey(t)), Name: "phone"})
	if err != nil {
		t.Fatalf("pairing: %v", err)
	}
	return out
}

// passkeyLogin logs a browser in by a passkey.
func passkeyLogin(t *testing.T, keys *identity.Passkeys, device *passkeytest.Device) (identity.Login, error) {
	t.Helper()
	c, err := keys.BeginLogin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return keys.FinishLogin(t.Context(), c.ID, device.Get(t, c.Options), "browser", "")
}

// notAfter says that something ends, and not after an end.
func notAfter(t *testing.T, what string, got, end time.Time) {
	t.Helper()
	if got.IsZero() || got.After(end) {
		t.Errorf("%s ends at %v, want no later than its maker at %v", what, got, end)
	}
}

// Somebody with a token of one minute minted one of a hundred years.
func TestAShortTokenMintsNothingThatLivesLonger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		short := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"*"}, TTL: time.Minute})
		by := w.mustAuthenticate(t, short.Secret)
		notAfter(t, "a token for a century", w.token(t, by, identity.TokenRequest{TTL: 876_000 * time.Hour}).Expires, short.Expires)
		notAfter(t, "a pairing token", w.token(t, by, identity.TokenRequest{Pairing: true}).Expires, short.Expires)
		notAfter(t, "a device", w.paired(t, by).Token.Expires, short.Expires)
		login := w.page(t, by)
		notAfter(t, "a page", login.Page.Expires, short.Expires)
		notAfter(t, "a token made on that page", w.token(t, login.Actor, identity.TokenRequest{}).Expires, short.Expires)
		keys, device := newPasskeys(t, w), newAuthenticator(t)
		notAfter(t, "a passkey", register(t, keys, login.Actor, device).Expires, short.Expires)
		again, err := passkeyLogin(t, keys, device)
		if err != nil {
			t.Fatal(err)
		}
		notAfter(t, "a page by that passkey", again.Page.Expires, short.Expires)
		notAfter(t, "a token made there", w.token(t, again.Actor, identity.TokenRequest{}).Expires, short.Expires)
		renewed, err := w.Rotate(t.Context(), by, short.ID, true)
		if err != nil {
			t.Fatal(err)
		}
		notAfter(t, "a token that renews itself", renewed.Expires, short.Expires)
	})
}

// device:manage, meant for pairing phones, rotated the owner's token and got its
// new secret.
func TestDeviceManageDoesNotGetTheOwnersToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		script := w.as(t, w.owner, identity.TokenRequest{Scopes: []string{"device:manage"}})
		for name, by := range map[string]identity.Actor{"the token": script, "its page": w.page(t, script).Actor, "its device": w.paired(t, script).Actor} {
			if out, err := w.Rotate(t.Context(), by, w.owner.TokenID, true); !errors.Is(err, identity.ErrForbidden) || out.Secret != "" {
				t.Errorf("%s rotates the owner's token: %v", name, err)
			}
			if err := w.Revoke(t.Context(), by, w.owner.TokenID); !errors.Is(err, identity.ErrForbidden) {
				t.Errorf("%s locks the owner out: %v", name, err)
			}
		}
		// Not even all of the owner's scopes, for a while, give a token that stays.
		short := w.as(t, w.owner, identity.TokenRequest{Scopes: []string{"admin"}, TTL: time.Hour})
		long := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"task"}})
		for _, id := range []string{w.owner.TokenID, long.ID} {
			if _, err := w.Rotate(t.Context(), short, id, false); !errors.Is(err, identity.ErrForbidden) {
				t.Errorf("a token of an hour gets one that lives longer: %v", err)
			}
		}
		w.mustAuthenticate(t, w.secret)
	})
}

// Somebody whom the owner invited as an administrator rotated owner.token on their page:
// a page passes on what logged it in, and so it counted as the token itself.
func TestAnInvitedPageDoesNotGetTheOwnersToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, name := range []string{"alice", "owner"} {
			link, err := w.CreateLink(t.Context(), w.owner, identity.LinkRequest{Principal: name, Scopes: []string{"admin"}})
			if err != nil {
				t.Fatal(err)
			}
			page := must(w.RedeemLink(t.Context(), link.Secret, "", ""))(t)
			if out, err := w.Rotate(t.Context(), page.Actor, w.owner.TokenID, false); !errors.Is(err, identity.ErrForbidden) || out.Secret != "" {
				t.Errorf("a page of %s rotates the owner's token: %v", name, err)
			}
		}
	})
}

// A child with its maker's scopes and life rotated its maker and outlived
// whoever had made that.
func TestATokenCannotTakeItsMakersPlace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		all := []string{"*"}
		first := w.token(t, w.owner, identity.TokenRequest{Scopes: all})
		second := w.token(t, w.mustAuthenticate(t, first.Secret), identity.TokenRequest{Scopes: all, TTL: 1000 * 24 * time.Hour})
		third := w.as(t, w.mustAuthenticate(t, second.Secret), identity.TokenRequest{Scopes: all, TTL: 1000 * 24 * time.Hour})
		for _, id := range []string{first.ID, second.ID} {
			if _, err := w.Rotate(t.Context(), third, id, false); !errors.Is(err, identity.ErrForbidden) {
				t.Errorf("a token rotates what made it: %v", err)
			}
		}
		// What a sibling made is not taken over either: it ends with that sibling.
		other := w.as(t, w.owner, identity.TokenRequest{Scopes: all, TTL: 1000 * 24 * time.Hour})
		if _, err := w.Rotate(t.Context(), other, second.ID, false); !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("a token takes over what another made: %v", err)
		}
		if _, err := w.Rotate(t.Context(), w.owner, second.ID, true); err != nil {
			t.Errorf("a maker cannot rotate what it made: %v", err)
		}
	})
}

// A revoked token left everything behind that had been made with it.
func TestRevokingATokenEndsEverythingMadeWithIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		shared := newBus(t)
		w := newWorldOn(t, db, shared, identity.Options{Recheck: time.Hour})
		peer := shared.Peer()
		t.Cleanup(func() { _ = peer.Close() })
		there := open(t, db, peer, identity.Options{Recheck: time.Hour})
		stolen := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"*"}})
		by := w.mustAuthenticate(t, stolen.Secret)

		secrets, cookies := map[string]string{}, map[string]string{}
		child := w.token(t, by, identity.TokenRequest{})
		secrets["a token"], secrets["a token's token"] = child.Secret, w.token(t, w.mustAuthenticate(t, child.Secret), identity.TokenRequest{}).Secret
		phone := w.paired(t, by)
		secrets["a device"], secrets["a device's token"] = phone.Token.Secret, w.token(t, phone.Actor, identity.TokenRequest{}).Secret
		login := w.page(t, by)
		cookies["a page"], secrets["a page's token"] = login.Cookie, w.token(t, login.Actor, identity.TokenRequest{}).Secret
		keys, device := newPasskeys(t, w), newAuthenticator(t)
		register(t, keys, login.Actor, device)
		again, err := passkeyLogin(t, keys, device)
		if err != nil {
			t.Fatal(err)
		}
		cookies["a passkey's page"], secrets["a passkey's page's token"] = again.Cookie, w.token(t, again.Actor, identity.TokenRequest{}).Secret
		unusedCode := w.token(t, by, identity.TokenRequest{Pairing: true})
		unusedLink, err := w.CreateLink(t.Context(), by, identity.LinkRequest{})
		if err != nil {
			t.Fatal(err)
		}
		bystander := w.token(t, w.owner, identity.TokenRequest{})

		live := map[string]<-chan identity.Reason{}
		for name, secret := range secrets {
			who, err := there.Authenticate(t.Context(), secret)
			if err != nil {
				t.Fatalf("%s before: %v", name, err)
			}
			live[name], _ = track(there, who)
		}
		for name, cookie := range cookies {
			who, err := there.AuthenticatePage(t.Context(), cookie)
			if err != nil {
				t.Fatalf("%s before: %v", name, err)
			}
			live[name], _ = track(there, who)
		}
		if err := w.Revoke(t.Context(), w.owner, stolen.ID); err != nil {
			t.Fatal(err)
		}
		for name, reasons := range live {
			if r := closed(t, reasons); r != identity.Revoked {
				t.Errorf("the connection of %s on another hub was closed for %q, want revoked", name, r)
			}
		}
		for name, secret := range secrets {
			if _, err := there.Authenticate(t.Context(), secret); identity.ReasonOf(err) != identity.Revoked {
				t.Errorf("%s: %v, want revoked", name, err)
			}
		}
		for name, cookie := range cookies {
			if _, err := there.AuthenticatePage(t.Context(), cookie); identity.ReasonOf(err) != identity.Revoked {
				t.Errorf("%s: %v, want revoked", name, err)
			}
		}
		if _, err := passkeyLogin(t, keys, device); !errors.Is(err, identity.ErrRefused) {
			t.Errorf("the passkey still logs in: %v", err)
		}
		if _, err := w.Pair(t.Context(), identity.PairRequest{Secret: unusedCode.Secret, PublicKey: public(newKey(t))}); !errors.Is(err, identity.ErrRefused) {
			t.Errorf("the unused pairing token still pairs: %v", err)
		}
		if _, err := w.RedeemLink(t.Context(), unusedLink.Secret, "", ""); !errors.Is(err, identity.ErrRefused) {
			t.Errorf("the unused link still logs in: %v", err)
		}
		if devices, err := w.Devices(t.Context(), w.owner); err != nil || len(devices) != 0 {
			t.Errorf("devices still in use: %+v, %v", devices, err)
		}
		w.mustAuthenticate(t, bystander.Secret)
	})
}

// Whoever logs out of a browser keeps the tokens made on its Settings page.
func TestLoggingOutKeepsWhatWasMadeThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		login := w.page(t, identity.Local(must(w.Owner(t.Context()))(t)))
		script := w.token(t, login.Actor, identity.TokenRequest{Name: "backup", Scopes: []string{"status:read"}, TTL: 8760 * time.Hour})
		keys, device := newPasskeys(t, w), newAuthenticator(t)
		key := register(t, keys, login.Actor, device)
		if err := w.ClosePage(t.Context(), login.Actor, login.Page.ID); err != nil {
			t.Fatal(err)
		}
		w.mustAuthenticate(t, script.Secret)
		if left := time.Until(script.Expires); left < 8759*time.Hour {
			t.Errorf("the script's token was cut to %v by a page without a mortal maker", left)
		}
		again, err := passkeyLogin(t, keys, device)
		if err != nil {
			t.Fatalf("the passkey went with the browser: %v", err)
		}
		if _, err := w.CreateToken(t.Context(), login.Actor, identity.TokenRequest{}); !errors.Is(err, identity.ErrRefused) {
			t.Errorf("a page that was logged out makes tokens: %v", err)
		}
		// A passkey is a maker: what came by it goes with it.
		made := w.token(t, again.Actor, identity.TokenRequest{})
		if err := keys.Remove(t.Context(), w.owner, key.ID); err != nil {
			t.Fatal(err)
		}
		_, err = w.AuthenticatePage(t.Context(), again.Cookie)
		wantReason(t, err, identity.Revoked)
		_, err = w.Authenticate(t.Context(), made.Secret)
		wantReason(t, err, identity.Revoked)
		w.mustAuthenticate(t, script.Secret)
	})
}

// A device's token lives from use to use, but not beyond the token it was paired with.
func TestADeviceSlidesNoFurtherThanItsMaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		maker := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"*"}, TTL: 40 * 24 * time.Hour})
		phone := w.paired(t, w.mustAuthenticate(t, maker.Secret)).Token.Secret
		for range 8 {
			<-time.After(5*24*time.Hour - time.Minute)
			by := w.mustAuthenticate(t, phone)
			notAfter(t, "a device in use", by.Expires, maker.Expires)
			notAfter(t, "what it makes", w.token(t, by, identity.TokenRequest{}).Expires, maker.Expires)
		}
		<-time.After(time.Hour)
		_, err := w.Authenticate(t.Context(), phone)
		wantReason(t, err, identity.Expired)
	})
}

// The maker of a device was renewed, and the device with it.
func TestADeviceGoesOnWhenItsMakerIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		maker := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"*"}, TTL: 20 * 24 * time.Hour})
		phone := w.paired(t, w.mustAuthenticate(t, maker.Secret)).Token.Secret
		<-time.After(19 * 24 * time.Hour)
		w.mustAuthenticate(t, phone)
		if _, err := w.Rotate(t.Context(), w.owner, maker.ID, true); err != nil {
			t.Fatal(err)
		}
		w.mustAuthenticate(t, phone) // slides behind the caller's back
		<-time.After(time.Minute)
		<-time.After(10 * 24 * time.Hour)
		w.mustAuthenticate(t, phone)
	})
}

// An admin gave what no admin has.
func TestNobodyGivesWhatTheyDoNotHave(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := must(w.Owner(t.Context()))(t)
		unattended := []string{"fleet:unattended"}
		admin := w.as(t, w.owner, identity.TokenRequest{Scopes: []string{"admin"}})
		for name, by := range map[string]identity.Actor{
			"the owner's admin token":       admin,
			"somebody else's":               w.as(t, w.owner, identity.TokenRequest{Principal: "bob", Scopes: []string{"admin"}}),
			"a page of the owner":           w.page(t, identity.Local(owner)).Actor,
			"a page opened by the owner's":  must(w.OpenPage(t.Context(), w.owner, ""))(t).Actor,
			"a page of the owner's admin's": w.page(t, admin).Actor,
		} {
			if got := w.token(t, by, identity.TokenRequest{Scopes: unattended, Principal: "carol"}); !got.Scopes.Empty() {
				t.Errorf("%s gives %v", name, got.Scopes)
			}
		}
		for name, by := range map[string]identity.Actor{"owner.token": w.owner, "the data folder": identity.Local(owner)} {
			got := w.token(t, by, identity.TokenRequest{Scopes: unattended})
			if got.Scopes.String() != "fleet:unattended" {
				t.Errorf("%s cannot give fleet:unattended by name, only %v", name, got.Scopes)
			}
			if _, err := w.Rotate(t.Context(), by, got.ID, true); err != nil {
				t.Errorf("%s cannot rotate what it gave: %v", name, err)
			}
			if _, err := w.Rotate(t.Context(), admin, got.ID, false); !errors.Is(err, identity.ErrForbidden) {
				t.Errorf("an admin without fleet:unattended gets a token with it: %v", err)
			}
			if got := w.token(t, by, identity.TokenRequest{Scopes: []string{"admin", "fleet", "*"}}); got.Scopes.Has(identity.FleetUnattended) {
				t.Errorf("%s gives fleet:unattended without its name", name)
			}
		}
	})
}

// A narrow script ends nothing wider than itself: its person would be locked out.
func TestANarrowTokenDoesNotEndAWiderOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		alice := w.as(t, w.owner, identity.TokenRequest{Principal: "alice", Scopes: []string{"*"}})
		script := w.as(t, alice, identity.TokenRequest{Scopes: []string{"device:manage", "task:read"}})
		page, phone := w.page(t, alice), w.paired(t, alice)
		keys := newPasskeys(t, w)
		key := register(t, keys, alice, newAuthenticator(t))
		node := w.token(t, alice, identity.TokenRequest{Role: identity.RoleNode})
		small := w.token(t, alice, identity.TokenRequest{Scopes: []string{"task:read"}})
		for what, err := range map[string]error{
			"token": w.Revoke(t.Context(), script, alice.TokenID), "page": w.ClosePage(t.Context(), script, page.Page.ID),
			"device": w.RevokeDevice(t.Context(), script, phone.Device.ID), "passkey": keys.Remove(t.Context(), script, key.ID),
		} {
			if !errors.Is(err, identity.ErrForbidden) {
				t.Errorf("a narrow token ends a wider %s: %v", what, err)
			}
		}
		for what, id := range map[string]string{"a node": node.ID, "something narrower": small.ID, "itself": script.TokenID} {
			if err := w.Revoke(t.Context(), script, id); err != nil {
				t.Errorf("it cannot end %s: %v", what, err)
			}
		}
		if err := w.Revoke(t.Context(), w.owner, alice.TokenID); err != nil {
			t.Errorf("an admin ends anything: %v", err)
		}
	})
}

// What an older hub made has no known maker and counts as made by the hub: it
// stands by itself, and joins the line of whoever rotates it.
func TestWhatAnOlderHubMadeStandsByItself(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		maker := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"*"}})
		old := w.token(t, w.mustAuthenticate(t, maker.Secret), identity.TokenRequest{Scopes: []string{"status:read"}, TTL: time.Hour})
		exec(t, w.db, `UPDATE tokens SET maker = ''`)
		if err := w.Revoke(t.Context(), w.owner, maker.ID); err != nil {
			t.Fatal(err)
		}
		w.mustAuthenticate(t, old.Secret)
		for what, req := range map[string]identity.TokenRequest{
			"narrower": {Scopes: []string{"device:manage", "task"}}, "of a shorter life": {Scopes: []string{"*"}, TTL: time.Minute},
		} {
			if _, err := w.Rotate(t.Context(), w.as(t, w.owner, req), old.ID, true); !errors.Is(err, identity.ErrForbidden) {
				t.Errorf("a token %s rotates it: %v", what, err)
			}
		}
		by := w.as(t, w.owner, identity.TokenRequest{Scopes: []string{"*"}})
		rotated, err := w.Rotate(t.Context(), by, old.ID, false)
		if err != nil || rotated.Maker() != "token:"+by.TokenID {
			t.Fatalf("rotated, its maker is %q (%v), want whoever has its secret now", rotated.Maker(), err)
		}
		if err := w.Revoke(t.Context(), w.owner, by.TokenID); err != nil {
			t.Fatal(err)
		}
		_, err = w.Authenticate(t.Context(), rotated.Secret)
		wantReason(t, err, identity.Revoked)
	})
}

// On another hub a token made something in the moment it was revoked.
func TestNothingIsMadeWithWhatIsBeingRevoked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 20 {
			by := w.as(t, w.owner, identity.TokenRequest{Scopes: []string{"device:manage"}})
			made := make(chan identity.Issued, 4)
			var group sync.WaitGroup
			for range cap(made) {
				group.Go(func() {
					out, err := w.CreateToken(t.Context(), by, identity.TokenRequest{})
					if err == nil {
						made <- out
					} else if !errors.Is(err, identity.ErrRefused) {
						t.Errorf("making a token: %v", err)
					}
				})
			}
			group.Go(func() {
				if err := w.Revoke(t.Context(), w.owner, by.TokenID); err != nil {
					t.Errorf("revoking: %v", err)
				}
			})
			group.Wait()
			close(made)
			for out := range made {
				_, err := w.Authenticate(t.Context(), out.Secret)
				wantReason(t, err, identity.Revoked)
			}
		}
	})
}

// Walking a line of makers stays cheap.
func TestALineOfMakersIsBounded(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	by := w.owner
	for i := range 100 {
		issued, err := w.CreateToken(t.Context(), by, identity.TokenRequest{Name: fmt.Sprint(i), Scopes: []string{"device:manage"}})
		if errors.Is(err, identity.ErrInvalid) && strings.Contains(err.Error(), "made by") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		by = w.mustAuthenticate(t, issued.Secret)
	}
	t.Error("a hundred tokens were made, each with the one before")
}
