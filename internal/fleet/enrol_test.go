package fleet_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/kenny"
)

// onBoth runs a test whose SQL matters on both databases.
func onBoth(t *testing.T, run func(t *testing.T, db *store.DB)) { storetest.Each(t, run) }

func newPublic(t testing.TB) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	return kenny.FormatPublicKey(public)
}

func (w *world) mint(req fleet.MintRequest) string {
	w.t.Helper()
	return must(w.fleet.Mint(w.t.Context(), op(), req))(w.t).Token
}

func (w *world) bind(id, token, key string) error {
	return w.fleet.Enrol(w.t.Context(), fleet.EnrolRequest{Machine: id, Token: token, PublicKey: key, Address: "192.0.2.1"})
}

func TestEnrolmentAnswers(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db})
		mine, other := newPublic(t), newPublic(t)
		minted := must(w.fleet.Mint(t.Context(), op(), fleet.MintRequest{Machine: "pc"}))(t)
		if minted.URL != "https://hub.example" || minted.ServerPublicKey != w.fleet.PublicKey() || time.Until(minted.Expires) > 24*time.Hour || len(minted.Token) != 43 {
			t.Errorf("%+v", minted)
		}
		foreign := w.mint(fleet.MintRequest{Machine: "other"})
		taken := newPublic(t)
		check(t, w.bind("other", foreign, taken))
		want := func(what string, err, is error) {
			t.Helper()
			if !errors.Is(err, is) {
				t.Errorf("%s: %v, want %v", what, err, is)
			}
		}
		want("wrong token", w.bind("pc", "nonsense", mine), fleet.ErrEnrolToken)
		want("no token", w.bind("pc", "", mine), fleet.ErrEnrolToken)
		want("foreign token", w.bind("pc", foreign, mine), fleet.ErrEnrolToken)
		want("bad id", w.bind("bad id", minted.Token, mine), fleet.ErrEnrolInvalid)
		for what, key := range map[string]string{
			"no base64": "***", "short": "AAAA", "small order": base64.StdEncoding.EncodeToString(make([]byte, 32)), "unpadded": strings.TrimRight(mine, "="),
			"the hub's own": w.fleet.PublicKey(), "another machine's": taken, "line break": mine[:20] + "\n" + mine[20:], "none": "",
		} {
			want(what, w.bind("pc", minted.Token, key), fleet.ErrEnrolInvalid)
		}
		check(t, w.bind("pc", minted.Token, mine)) // it was not used up
		check(t, w.bind("pc", minted.Token, mine)) // and answers its own key again
		want("used with another key", w.bind("pc", minted.Token, other), fleet.ErrEnrolConflict)
		if !w.view("pc").Enrolled {
			t.Error("not enrolled")
		}
	})
}

func TestEnrolmentTokensExpireAndRepeatForADayOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = time.Hour }})
		key := newPublic(t)
		token := w.mint(fleet.MintRequest{Machine: "pc", TTL: time.Hour})
		<-time.After(time.Hour)
		if err := w.bind("pc", token, key); !errors.Is(err, fleet.ErrEnrolToken) {
			t.Errorf("expired: %v", err)
		}
		token = w.mint(fleet.MintRequest{Machine: "pc"})
		check(t, w.bind("pc", token, key))
		<-time.After(24*time.Hour - time.Second)
		check(t, w.bind("pc", token, key))
		<-time.After(time.Minute)
		if err := w.bind("pc", token, key); !errors.Is(err, fleet.ErrEnrolToken) {
			t.Errorf("a day later: %v", err)
		}
		_, err := w.fleet.Mint(t.Context(), op(), fleet.MintRequest{Machine: "pc", Rekey: true, TTL: 31 * 24 * time.Hour})
		wantCode(t, err, fault.BadArgs)
	})
}

func TestMinting(t *testing.T) {
	w := newWorld(t, setup{})
	first, second := w.mint(fleet.MintRequest{Machine: "pc"}), w.mint(fleet.MintRequest{Machine: "pc"})
	if err := w.bind("pc", first, newPublic(t)); !errors.Is(err, fleet.ErrEnrolToken) {
		t.Errorf("a voided token: %v", err)
	}
	check(t, w.bind("pc", second, newPublic(t)))
	_, err := w.fleet.Mint(t.Context(), op(), fleet.MintRequest{Machine: "pc"})
	wantCode(t, err, fault.Conflict)
	_, err = w.fleet.Mint(t.Context(), op(), fleet.MintRequest{Machine: "PC"})
	if e := wantCode(t, err, fault.Conflict); !strings.Contains(e.Message, "case") {
		t.Errorf("e is %v; want \"case\" in it", e)
	}
	_, err = w.fleet.Mint(t.Context(), as(identity.AtAPI, identity.FleetCall), fleet.MintRequest{Machine: "x"})
	wantCode(t, err, fault.Forbidden)
	_, err = w.fleet.Mint(t.Context(), op(), fleet.MintRequest{Machine: "no good"})
	wantCode(t, err, fault.BadArgs)
	var dump strings.Builder
	check(t, w.db.Dump(t.Context(), &dump))
	if strings.Contains(dump.String(), first) || strings.Contains(dump.String(), second) {
		t.Error("a token is in the store")
	}
}

func TestMintingForEndpointsWithoutKeysIsInTheTrail(t *testing.T) {
	w := newWorld(t, setup{deps: func(d *fleet.Deps) { d.InsecureLegacyTokens = true }})
	must(w.fleet.Mint(t.Context(), op(), fleet.MintRequest{Machine: "old", Legacy: true}))(t)
	if got := w.trailOf("fleet.legacy."); len(got) != 1 || got[0].Target != "old" {
		t.Errorf("one entry about the token of an endpoint without keys, got %+v", got)
	}
}

func TestRekeyWithoutGraceEndsTheOldKeyAtOnce(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	m.push(goodDisk)
	none := time.Duration(0)
	token := w.mint(fleet.MintRequest{Machine: "pc", Rekey: true, Grace: &none})
	if w.view("pc").Presence != fleet.Online {
		t.Error("minting alone ended the connection")
	}
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	check(t, w.bind("pc", token, kenny.FormatPublicKey(public)))
	if code := receive(t, m.closed, "close"); code != kenny.CloseUnauthorized {
		t.Errorf("closed %d", code)
	}
	m.cut()
	if err := w.newFake("pc", m.key).dial(); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("the old key: %v", err)
	}
	w.connect("pc", private)
	if v := w.view("pc"); v.Overall != kenny.StatusOK || !v.Online {
		t.Errorf("history is gone: %+v", v)
	}
	if len(w.trailOf("fleet.rekey")) == 0 {
		t.Error("not in the trail")
	}
}

func TestRekeyWithGraceKeepsTheOldKeyUntilTheNewOneIsUsed(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	check(t, w.bind("pc", w.mint(fleet.MintRequest{Machine: "pc", Rekey: true}), kenny.FormatPublicKey(public)))
	m.cut()
	old := w.connect("pc", m.key) // still good
	fresh := w.connect("pc", private)
	if code := receive(t, old.closed, "close"); code != kenny.CloseReplaced {
		t.Errorf("closed %d", code)
	}
	fresh.cut()
	if err := w.newFake("pc", m.key).dial(); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("the old key after the new one was used: %v", err)
	}
	w.connect("pc", private)
}

// A machine was enrolled, never connected, and was given a new key. When the old
// program came up first, its first use ended the new key, and the machine was locked
// out for good.
func TestTheFirstUseOfAnOlderKeyDoesNotEndANewerOne(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db})
		older := w.enrol("pc")
		public, newer, _ := ed25519.GenerateKey(rand.Reader)
		check(t, w.bind("pc", w.mint(fleet.MintRequest{Machine: "pc", Rekey: true}), kenny.FormatPublicKey(public)))
		w.connect("pc", older).cut()
		fresh := w.newFake("pc", newer)
		if err := fresh.dial(); err != nil {
			t.Fatalf("the newer key is refused after the first use of the older one: %v", err)
		}
		fresh.cut()
		if err := w.newFake("pc", older).dial(); !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("the older key after the newer one was used: %v; wanted it refused", err)
		}
	})
}

// Whoever finds a used token in a log must not put a key of their own beside the
// machine's.
func TestARekeyTokenServesOneKey(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db})
		w.enrol("pc")
		token, mine := w.mint(fleet.MintRequest{Machine: "pc", Rekey: true}), newPublic(t)
		check(t, w.bind("pc", token, mine))
		check(t, w.bind("pc", token, mine)) // the same machine may ask again
		public, private, _ := ed25519.GenerateKey(rand.Reader)
		if err := w.bind("pc", token, kenny.FormatPublicKey(public)); !errors.Is(err, fleet.ErrEnrolConflict) {
			t.Errorf("the same token with another key: %v, want %v", err, fleet.ErrEnrolConflict)
		}
		if err := w.newFake("pc", private).dial(); !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("the other key connects: %v, want %v", err, fleet.ErrRefused)
		}
	})
}

func TestAnOldKeyHasAWeekUnlessToldOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = time.Hour }})
		old := w.enrol("pc")
		check(t, w.bind("pc", w.mint(fleet.MintRequest{Machine: "pc", Rekey: true}), newPublic(t)))
		<-time.After(7*24*time.Hour - time.Second)
		m := w.newFake("pc", old)
		if err := m.dial(); err != nil {
			t.Errorf("the old key within its week: %v", err)
		}
		m.cut()
		<-time.After(time.Second)
		if err := w.newFake("pc", old).dial(); !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("the old key after its week: %v, want %v", err, fleet.ErrRefused)
		}
	})
}

func TestTheGraceOfAnOldKeyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{slow: true, deps: func(d *fleet.Deps) { d.Limits.Sweep = 10 * time.Minute }})
		m := w.join("pc")
		grace := time.Hour
		check(t, w.bind("pc", w.mint(fleet.MintRequest{Machine: "pc", Rekey: true, Grace: &grace}), newPublic(t)))
		<-time.After(30 * time.Minute)
		if !w.view("pc").Online {
			t.Error("ended early")
		}
		if code := <-m.closed; code != kenny.CloseUnauthorized {
			t.Errorf("closed %d", code)
		}
		m.cut()
		if err := w.newFake("pc", m.key).dial(); !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("%v; want fleet.ErrRefused", err)
		}
	})
}

func TestAKeyThatWasRemovedDoesNotComeBackUnderAnotherName(t *testing.T) {
	w := newWorld(t, setup{})
	m := w.join("pc")
	check(t, w.fleet.Remove(t.Context(), op(), "pc"))
	key := kenny.FormatPublicKey(m.key.Public().(ed25519.PublicKey))
	if err := w.bind("copy", w.mint(fleet.MintRequest{Machine: "copy"}), key); !errors.Is(err, fleet.ErrEnrolInvalid) {
		t.Errorf("%v; want fleet.ErrEnrolInvalid", err)
	}
	check(t, w.bind("pc", w.mint(fleet.MintRequest{Machine: "pc"}), key)) // a reinstall of the same
}

// Connections are written together; one of a machine that is gone meanwhile harms no
// other.
func TestAMachineRemovedDuringItsHandshakeIsRefusedAndItsNeighboursAreNot(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, setup{db: db})
		const gone = "m3"
		var all []*fake
		for i := range 6 {
			id := fmt.Sprintf("m%d", i)
			all = append(all, w.newFake(id, w.enrol(id)))
		}
		check(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE fleet_machines SET removed_at = 1 WHERE id = ?`, gone)
			return err
		}))
		var g sync.WaitGroup
		errs := make([]error, len(all))
		for i, m := range all {
			g.Go(func() { errs[i] = m.dial() })
		}
		g.Wait()
		for i, m := range all {
			if refused := errors.Is(errs[i], fleet.ErrRefused); refused != (m.id == gone) {
				t.Errorf("%s: %v", m.id, errs[i])
			}
		}
		events := must(w.fleet.Events(t.Context(), op(), telemetry.EventQuery{}))(t).Events
		connected := 0
		for _, e := range events {
			if e.Target == "connect" {
				connected++
			}
		}
		if connected != len(all)-1 {
			t.Errorf("%d connections are on record", connected)
		}
	})
}
