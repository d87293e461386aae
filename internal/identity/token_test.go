package identity_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestBootstrapMakesOneOwnerWithAllButUnattendedFleet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		dirs := []*identity.Directory{open(t, db, newBus(t), identity.Options{}), open(t, db, newBus(t), identity.Options{})}
		results := make([]identity.Bootstrapped, 8)
		var group sync.WaitGroup
		for i := range results {
			group.Go(func() {
				var err error
				if results[i], err = dirs[i%2].Bootstrap(t.Context(), "owner"); err != nil {
					t.Errorf("bootstrap: %v", err)
				}
			})
		}
		group.Wait()
		created := 0
		for _, r := range results {
			if r.Created {
				created++
				who, err := dirs[1].Authenticate(t.Context(), r.Secret)
				if err != nil || !who.Owner || !who.Admin() || !who.Scopes.Has(identity.TaskUnattended) || who.Scopes.Has(identity.FleetUnattended) {
					t.Errorf("owner's session %+v, %v", who, err)
				}
			}
		}
		if created != 1 {
			t.Errorf("%d owners were created, want 1", created)
		}
	})
}

// Each data folder, of each container that was ever started, added a token of the owner's
// that was good for ever.
func TestOwnerTokensOfDataFoldersThatAreGoneEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		dir := open(t, db, newBus(t), identity.Options{})
		first, err := dir.Bootstrap(t.Context(), "owner")
		if err != nil {
			t.Fatal(err)
		}
		made := map[string]identity.Issued{}
		for _, hub := range []string{"gone", "used", "left something"} {
			if made[hub], err = dir.NewOwnerToken(t.Context(), hub); err != nil {
				t.Fatal(err)
			}
		}
		who, err := dir.Authenticate(t.Context(), made["left something"].Secret)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dir.CreateToken(t.Context(), who, identity.TokenRequest{Name: "prometheus", TTL: 365 * 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			old := store.Micros(time.Now().Add(-identity.TokenLife - time.Hour))
			if _, err := tx.Exec(`UPDATE tokens SET created_at = ?, last_used_at = ? WHERE name LIKE 'owner%'`, old, old); err != nil {
				return err
			}
			_, err := tx.Exec(`UPDATE tokens SET last_used_at = ? WHERE name = 'owner on used'`, store.Micros(time.Now()))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := dir.EndIdleOwnerTokens(t.Context()); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			secret string
			good   bool
		}{
			"the first": {first.Secret, true}, "of a folder in use": {made["used"].Secret, true},
			"that something was made with": {made["left something"].Secret, true}, "of a folder that is gone": {made["gone"].Secret, false},
		} {
			if _, err := dir.Authenticate(t.Context(), c.secret); (err == nil) != c.good {
				t.Errorf("the owner's token %s: %v, want good %v", what, err, c.good)
			}
		}
	})
}

func TestATokenAuthenticatesAsItsPersonWithItsScopes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		issued := w.token(t, w.owner, identity.TokenRequest{Name: "ci", Principal: "alice", Scopes: []string{"task", "nonsense"}, TTL: time.Hour})
		if !identity.TokenForm(issued.Secret) {
			t.Fatalf("a secret of the wrong form: %q", issued.Secret)
		}
		who := w.mustAuthenticate(t, issued.Secret)
		if who.Person.Name != "alice" || who.Owner || who.TokenID != issued.ID || who.Credential != identity.TokenOperator {
			t.Errorf("session %+v", who)
		}
		want := []string{"task:control", "task:read", "task:submit"}
		if diff := cmp.Diff(want, who.Scopes.Sorted()); diff != "" {
			t.Errorf("scopes: %s", diff)
		}
		if left := time.Until(who.Expires); left > time.Hour || left < 59*time.Minute {
			t.Errorf("expires in %v", left)
		}
	})
}

func TestScopesAreCutToTheCaller(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		alice := w.token(t, w.owner, identity.TokenRequest{Principal: "alice", Scopes: []string{"device:manage", "task:read", "fleet", "machine:pc-1"}})
		by := w.mustAuthenticate(t, alice.Secret)
		child := w.token(t, by, identity.TokenRequest{Scopes: []string{"*", "admin", "fleet:unattended"}})
		want := []string{"device:manage", "fleet:admin", "fleet:call", "fleet:read", "fleet:sensitive", "machine:pc-1", "task:read"}
		if diff := cmp.Diff(want, child.Scopes.Sorted()); diff != "" {
			t.Errorf("scopes of the child: %s", diff)
		}
		if _, err := w.CreateToken(t.Context(), by, identity.TokenRequest{Principal: "bob"}); !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("a token for somebody else: %v", err)
		}
		plain := w.token(t, w.owner, identity.TokenRequest{Principal: "alice", Scopes: []string{"task"}})
		if _, err := w.CreateToken(t.Context(), w.mustAuthenticate(t, plain.Secret), identity.TokenRequest{}); !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("without device:manage: %v", err)
		}
		if issued := w.token(t, w.owner, identity.TokenRequest{Scopes: []string{"fleet:unattended"}}); !issued.Scopes.Has(identity.FleetUnattended) {
			t.Error("the owner's own token may give fleet:unattended by name")
		}
	})
}

func TestANodeTokenHoldsNothingButRegister(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		issued := w.token(t, w.owner, identity.TokenRequest{Role: identity.RoleNode, Scopes: []string{"*", "admin"}})
		if diff := cmp.Diff([]string{"node:register"}, issued.Scopes.Sorted()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBadTokenRequestsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, req := range map[string]identity.TokenRequest{
			"role":      {Role: "king"},
			"ttl":       {TTL: time.Millisecond},
			"negative":  {TTL: -time.Hour},
			"principal": {Principal: "tg:12"},
		} {
			if _, err := w.CreateToken(t.Context(), w.owner, req); !errors.Is(err, identity.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestRefusalsTellWhy(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		good := w.token(t, w.owner, identity.TokenRequest{})
		for _, malformed := range []string{"", "prl_", "bearer", good.Secret + "x", good.Secret[:len(good.Secret)-1], strings.Replace(good.Secret, "prl_", "PRL_", 1), "prl_" + strings.Repeat("*", 43)} {
			_, err := w.Authenticate(ctx, malformed)
			wantReason(t, err, identity.Malformed)
		}
		_, err := w.Authenticate(ctx, "prl_"+strings.Repeat("A", 43))
		wantReason(t, err, identity.Unknown)

		expired := w.token(t, w.owner, identity.TokenRequest{})
		exec(t, w.db, `UPDATE tokens SET expires_at = 1 WHERE id = ?`, expired.ID)
		_, err = w.Authenticate(ctx, expired.Secret)
		wantReason(t, err, identity.Expired)

		if err := w.Revoke(ctx, w.owner, good.ID); err != nil {
			t.Fatal(err)
		}
		_, err = w.Authenticate(ctx, good.Secret)
		wantReason(t, err, identity.Revoked)
		if !errors.Is(err, identity.ErrRefused) || strings.Contains(err.Error(), "prl_") {
			t.Errorf("error %q", err)
		}
	})
}

func TestTheDatabaseNeverHoldsASecret(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	issued := w.token(t, w.owner, identity.TokenRequest{Pairing: true})
	body := strings.TrimPrefix(issued.Secret, "prl_")
	err := w.db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.Each(func(row *sql.Rows) error {
			var lookup string
			var salt, hash []byte
			if err := row.Scan(&lookup, &salt, &hash); err != nil {
				return err
			}
			for _, kept := range []string{lookup, string(salt), string(hash)} {
				if strings.Contains(kept, body[:6]) || strings.Contains(kept, issued.Code) {
					t.Error("a part of the secret is in the database")
				}
			}
			return nil
		}, `SELECT lookup, salt, hash FROM token_secrets`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSomebodyElsesTokenIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		alice := w.mustAuthenticate(t, w.token(t, w.owner, identity.TokenRequest{Principal: "alice"}).Secret)
		bobs := w.token(t, w.owner, identity.TokenRequest{Principal: "bob"})
		_, rotating := w.Rotate(t.Context(), alice, bobs.ID, false)
		_, looking := w.Token(t.Context(), alice, bobs.ID)
		for _, err := range []error{w.Revoke(t.Context(), alice, bobs.ID), rotating, looking, w.Revoke(t.Context(), alice, "nothing")} {
			if !errors.Is(err, identity.ErrNotFound) {
				t.Errorf("got %v", err)
			}
		}
		listed, err := w.Tokens(t.Context(), alice)
		if err != nil || len(listed) != 1 || listed[0].Principal.Name != "alice" {
			t.Errorf("alice sees %+v, %v", listed, err)
		}
		if all, err := w.Tokens(t.Context(), w.owner); err != nil || len(all) != 3 {
			t.Errorf("the owner sees %d, %v", len(all), err)
		}
		w.mustAuthenticate(t, bobs.Secret)
	})
}

func TestRotationKeepsTheOldSecretForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, storetest.SQLite(t), patient)
		first := w.token(t, w.owner, identity.TokenRequest{TTL: time.Hour})
		w.mustAuthenticate(t, first.Secret)
		<-time.After(10 * time.Minute)
		own := w.mustAuthenticate(t, first.Secret)
		second, err := w.Rotate(t.Context(), own, first.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		if second.ID != first.ID || !second.Expires.Equal(first.Expires) || !second.OldValidUntil.Equal(time.Now().Add(5*time.Minute)) {
			t.Errorf("rotated %+v", second)
		}
		<-time.After(4*time.Minute + 59*time.Second)
		w.mustAuthenticate(t, first.Secret)
		w.mustAuthenticate(t, second.Secret)
		<-time.After(time.Second)
		_, err = w.Authenticate(t.Context(), first.Secret)
		wantReason(t, err, identity.Expired)
		w.mustAuthenticate(t, second.Secret)
		renewed, err := w.Rotate(t.Context(), w.owner, first.ID, true)
		if err != nil || !renewed.Expires.Equal(time.Now().Add(time.Hour)) {
			t.Errorf("renewed until %v, %v", renewed.Expires, err)
		}
		<-time.After(time.Hour)
		_, err = w.Authenticate(t.Context(), renewed.Secret)
		wantReason(t, err, identity.Expired)
	})
}

func TestLastUseIsWrittenBehindTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storetest.SQLite(t))
		issued := w.token(t, w.owner, identity.TokenRequest{Name: "x"})
		w.mustAuthenticate(t, issued.Secret)
		used := time.Now()
		if rec, err := w.Token(t.Context(), w.owner, issued.ID); err != nil || !rec.LastUsed.IsZero() {
			t.Fatalf("written at once: %+v, %v", rec, err)
		}
		<-time.After(31 * time.Second)
		if rec, err := w.Token(t.Context(), w.owner, issued.ID); err != nil || !rec.LastUsed.Equal(used) {
			t.Errorf("last used %v, want %v (%v)", rec.LastUsed, used, err)
		}
	})
}
