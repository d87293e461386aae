package identity_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley.internal/internal/identity"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/passkeytest"
)

// family is a token and everything that was made from it, in any way there is.
type family struct {
	w       *world
	t       *testing.T
	keys    *identity.Passkeys
	members []*member
}

// member is a credential of a family.
type member struct {
	maker *member // nil for the first
	// token and cookie are its secret; device is a passkey.
	token, cookie string
	device        *passkeytest.Device
	id            string
	scopes        identity.Scopes
	ends          time.Time
}

// open authenticates the member; a passkey logs a new page in.
func (f *family) open(m *member) (identity.Actor, error) {
	switch {
	case m.token != "":
		return f.w.Authenticate(f.t.Context(), m.token)
	case m.cookie != "":
		return f.w.AuthenticatePage(f.t.Context(), m.cookie)
	default:
		login, err := passkeyLogin(f.t, f.keys, m.device)
		return login.Actor, err
	}
}

// root is the token or passkey that stands behind a member: pages make nothing
// by themselves.
func (m *member) root() *member {
	for m.cookie != "" {
		m = m.maker
	}
	return m
}

func (m *member) descends(from *member) bool {
	for ; m != nil; m = m.maker {
		if m == from {
			return true
		}
	}
	return false
}

func (f *family) add(m *member) { f.members = append(f.members, m) }

// grow has a member make something, if it may.
func (f *family) grow(t *rapid.T, by *member) {
	session, err := f.open(by)
	if err != nil {
		t.Fatalf("a member that was not ended is refused: %v", err)
	}
	ctx, root := f.t.Context(), by.root()
	wanted := append(names.Draw(t, "scopes"), "device:manage")
	ttl := time.Duration(rapid.IntRange(1, 1_000_000).Draw(t, "hours")) * time.Hour
	switch rapid.SampledFrom([]string{"token", "page", "link", "code", "device", "passkey", "rotate"}).Draw(t, "what") {
	case "token":
		if out, err := f.w.CreateToken(ctx, session, identity.TokenRequest{Scopes: wanted, TTL: ttl}); err == nil {
			f.add(&member{maker: root, token: out.Secret, id: out.ID, scopes: out.Scopes, ends: out.Expires})
		}
	case "page":
		if out, err := f.w.OpenPage(ctx, session, ""); err == nil {
			f.add(&member{maker: root, cookie: out.Cookie, scopes: out.Page.Scopes, ends: out.Page.Expires})
		}
	case "link":
		if link, err := f.w.CreateLink(ctx, session, identity.LinkRequest{Scopes: wanted}); err == nil {
			out := must(f.w.RedeemLink(ctx, link.Secret, "", ""))(f.t)
			f.add(&member{maker: root, cookie: out.Cookie, scopes: out.Page.Scopes, ends: out.Page.Expires})
		}
	case "code":
		if code, err := f.w.CreateToken(ctx, session, identity.TokenRequest{Scopes: wanted, Pairing: true}); err == nil {
			out := must(f.w.RedeemCode(ctx, code.Secret, "", ""))(f.t)
			f.add(&member{maker: root, cookie: out.Cookie, scopes: out.Page.Scopes, ends: out.Page.Expires})
		}
	case "device":
		if code, err := f.w.CreateToken(ctx, session, identity.TokenRequest{Scopes: wanted, Pairing: true}); err == nil {
			out := must(f.w.Pair(ctx, identity.PairRequest{Secret: code.Secret, PublicKey: public(newKey(f.t))}))(f.t)
			f.add(&member{maker: root, token: out.Token.Secret, id: out.Token.ID, scopes: out.Token.Scopes, ends: out.Token.Expires})
		}
	case "passkey":
		if session.Scopes.Has(identity.DeviceManage) {
			device := newAuthenticator(f.t)
			key := register(f.t, f.keys, session, device)
			f.add(&member{maker: root, device: device, id: key.ID, scopes: key.Scopes, ends: key.Expires})
		}
	case "rotate":
		other := rapid.SampledFrom(f.members).Draw(t, "which")
		if other.token == "" {
			return
		}
		out, err := f.w.Rotate(ctx, session, other.id, rapid.Bool().Draw(t, "renew"))
		if err != nil {
			return
		}
		if !other.descends(root) {
			t.Fatalf("%s was rotated by what did not make it", other.id)
		}
		if !session.Scopes.Covers(other.scopes) || longer(out.Expires, root.ends.Add(time.Minute)) {
			t.Fatalf("rotating gave %v until %v to one that has %v until %v", other.scopes, out.Expires, session.Scopes, root.ends)
		}
		other.token, other.ends = out.Secret, out.Expires
	}
}

// longer says that an end comes after another; zero is never.
func longer(a, b time.Time) bool { return !b.IsZero() && (a.IsZero() || a.After(b)) }

// No sequence of making, rotating, renewing, linking, pairing and logging in
// yields a credential that can do more or lives longer than what it was made
// with, and revoking one leaves alive exactly what does not come from it.
func TestNoSequenceOfMakingGrows(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	keys := newPasskeys(t, w)
	rapid.Check(t, func(rt *rapid.T) {
		f := &family{w: w, t: t, keys: keys}
		first := w.token(t, w.owner, identity.TokenRequest{
			Scopes: append(names.Draw(rt, "first"), "device:manage"), TTL: time.Duration(rapid.IntRange(1, 100_000).Draw(rt, "life")) * time.Hour,
		})
		f.add(&member{token: first.Secret, id: first.ID, scopes: first.Scopes, ends: first.Expires})
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			f.grow(rt, rapid.SampledFrom(f.members).Draw(rt, "by"))
		}
		for _, m := range f.members[1:] {
			// A device's own end moves with each use; lives are counted in hours here.
			if !m.maker.scopes.Covers(m.scopes) || longer(m.ends, m.maker.ends.Add(time.Minute)) {
				rt.Fatalf("%v until %v came from %v until %v", m.scopes, m.ends, m.maker.scopes, m.maker.ends)
			}
		}
		f.endOne(rt)
	})
}

// endOne revokes a member and looks at all of them.
func (f *family) endOne(t *rapid.T) {
	mortal := slices.DeleteFunc(slices.Clone(f.members), func(m *member) bool { return m.cookie != "" })
	end := rapid.SampledFrom(mortal).Draw(t, "end")
	err := error(nil)
	if end.device != nil {
		err = f.keys.Remove(f.t.Context(), f.w.owner, end.id)
	} else {
		err = f.w.Revoke(f.t.Context(), f.w.owner, end.id)
	}
	if err != nil {
		t.Fatalf("ending one: %v", err)
	}
	for _, m := range f.members {
		_, err := f.open(m)
		switch gone := errors.Is(err, identity.ErrRefused); {
		case m.descends(end) && !gone:
			t.Fatalf("what came from a revoked credential is alive (%v)", err)
		case !m.descends(end) && err != nil:
			t.Fatalf("what did not come from the revoked credential ended with it: %v", err)
		}
	}
}
