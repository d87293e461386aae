package identity_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

func TestCredentialsSurviveABackup(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		pairing := w.token(t, w.owner, identity.TokenRequest{Pairing: true})
		paired, err := w.Pair(t.Context(), identity.PairRequest{Secret: pairing.Secret, PublicKey: public(newKey(t))})
		if err != nil {
			t.Fatal(err)
		}
		login, err := w.OpenPage(t.Context(), w.owner, "")
		if err != nil {
			t.Fatal(err)
		}
		var dump bytes.Buffer
		if err := w.db.Dump(t.Context(), &dump); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(t.TempDir(), "restored.db")
		if err := store.Load(t.Context(), target, &dump, store.Options{}); err != nil {
			t.Fatal(err)
		}
		restored := open(t, storetest.Open(t, target), newBus(t), identity.Options{})
		for _, secret := range []string{w.secret, paired.Token.Secret} {
			if _, err := restored.Authenticate(t.Context(), secret); err != nil {
				t.Errorf("after the restore: %v", err)
			}
		}
		if _, err := restored.AuthenticatePage(t.Context(), login.Cookie); err != nil {
			t.Errorf("the page: %v", err)
		}
		_, err = restored.Authenticate(t.Context(), pairing.Secret)
		wantReason(t, err, identity.Used)
	})
}
