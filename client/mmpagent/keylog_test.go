package mmpagent_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// with opens an agent whose memory is its own, kept on disk between worlds.
func with(peers *mmpagent.Peers) func(*mmpagent.Options) {
	return func(o *mmpagent.Options) { o.Peers = peers }
}

func memory(t *testing.T) *mmpagent.Peers {
	t.Helper()
	p, err := mmpagent.OpenPeers(filepath.Join(t.TempDir(), "peers.json"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The operator of a place shows one history of keys to Ada and another to Bob, both
// signed, each sound in itself. Ada and Bob never talk to each other; but both come home
// to an honest place, which hears from Ada what she saw and tells Bob. He is sent nothing
// more for a key of that place.
func TestAnOperatorWithTwoFacesIsCaught(t *testing.T) {
	front, back, home := worldOf(t, 9, place.Config{Auth: place.TOFU}), worldOf(t, 9, place.Config{Auth: place.TOFU}), worldOf(t, 8, place.Config{Auth: place.TOFU})
	ada, bob := memory(t), memory(t)
	front.agent(0, "ada", with(ada))
	back.agent(2, "carol")
	atBack := back.agent(1, "bob", with(bob))
	if _, _, err := atBack.Key(t.Context(), "carol"); err != nil {
		t.Fatalf("before anybody compared, all is well: %v", err)
	}
	home.agent(0, "ada", with(ada))
	home.agent(1, "bob", with(bob))
	if _, _, err := atBack.Key(t.Context(), "carol"); !errors.Is(err, mmp.ErrTwoHistories) {
		t.Errorf("a place with two histories is believed: %v", err)
	}
	if _, err := atBack.Send(t.Context(), "carol", "note", "the secret"); !errors.Is(err, mmp.ErrTwoHistories) {
		t.Errorf("a place with two histories is sent something: %v", err)
	}
}

// The operator puts a key of their own before what the log says. It is in no log, and
// nothing is sealed for it.
func TestAKeyThatIsNotInTheLogIsRefused(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	w.agent(0, "bob")
	target, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	swapped := httputil.NewSingleHostReverseProxy(target)
	mine := shared()[2].Ring.RSA.Public()
	liar := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/keys/bob") {
			body, _ := mmp.Encode(mmp.KeyAnswer{AgentID: "bob", PublicKey: mine.PEM(), KeyID: mine.KeyID(), Proven: true})
			_, _ = rw.Write(body)
			return
		}
		r.Host = target.Host
		swapped.ServeHTTP(rw, r)
	}))
	defer liar.Close()
	ada, err := mmpagent.Open(liar.URL, mmpagent.Options{ID: "ada", HTTP: liar.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Send(t.Context(), "bob", "note", "the secret"); !errors.Is(err, mmp.ErrNotLogged) {
		t.Errorf("something was sealed for a key that is in no log: %v", err)
	}
}

// Bob changes his key; the old one names the new one, which takes over, both signed and
// logged. Ada follows without anybody's help, and does not go back to the old key.
func TestARotationIsFollowedAndNotUndone(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.Strict})
	peers := memory(t)
	ada, bob := w.agent(0, "ada", with(peers)), w.agent(1, "bob")
	if _, err := ada.Send(t.Context(), "bob", "note", "one"); err != nil {
		t.Fatal(err)
	}
	if err := bob.Rotate(t.Context(), shared()[2]); err != nil {
		t.Fatal(err)
	}
	sent, err := ada.Send(t.Context(), "bob", "note", "two")
	if want := shared()[2].Ring.RSA.Public().KeyID(); err != nil || sent.KeyID != want {
		t.Fatalf("a key that named its successor was not followed: %v, sealed for %s", err, sent.KeyID)
	}
	if err := bob.Rotate(t.Context(), shared()[3]); err != nil {
		t.Fatal(err)
	}
	if m := mustSend(t, bob, ada); m.Problem != nil || !m.Signed || len(m.Earlier) != 2 {
		t.Errorf("a message under the third key: %+v", m)
	}
}

func mustSend(t *testing.T, from, to *mmpagent.Agent) mmpagent.Message {
	t.Helper()
	if _, err := from.Send(t.Context(), to.ID(), "note", "hello"); err != nil {
		t.Fatal(err)
	}
	return one(t, to)
}

// An id that is a key's hash belongs to that key, and to whom it named.
func TestAnIdOfAKeysHashFollowsItsKey(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.Strict})
	bob := w.agent(1, "")
	if err := bob.Rotate(t.Context(), shared()[2]); err != nil {
		t.Fatal(err)
	}
	ada := w.agent(0, "ada")
	if _, err := ada.Send(t.Context(), bob.ID(), "note", "hello"); err != nil {
		t.Errorf("whoever meets the agent after its rotation cannot follow it: %v", err)
	}
}

// Somebody kept Bob's old key entry and puts it back: the place keeps the newer one.
func TestAnOlderEntryDoesNotReplaceANewerOne(t *testing.T) {
	w := newWorld(t, place.Config{Auth: place.TOFU})
	bob := w.agent(1, "bob")
	w.clock.pass(30 * time.Minute)
	if err := bob.PublishKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	ada := w.agent(0, "ada")
	_, now, err := ada.Key(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	w.clock.pass(-40 * time.Minute)
	if err := bob.PublishKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(40 * time.Minute)
	if _, entry, err := ada.Key(t.Context(), "bob"); err != nil || !entry.IssuedAt.Equal(now.IssuedAt) {
		t.Errorf("an older entry took the place of a newer one: %+v %v", entry, err)
	}
}
