package room_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/room"
	"parley.internal/internal/room/ice"
	"parley.internal/protocol/kibitz"
)

// later lets the fake clock run and everything settle.
func later(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // of a bubble: this is the fake clock
	synctest.Wait()
}

func TestABrokenConnectionIsAwayThenLeftThenGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		id := h.open("r", openTo())
		ann, ben, cat := h.guest(id, "Ann"), h.guest(id, "Ben"), h.guest(id, "Cat")
		ben.gone()
		cat.gone()
		later(time.Second)
		if r := lastOf[*kibitz.Roster](ann); len(r.Members) != 3 || !r.Members[1].Away {
			t.Errorf("%+v", r)
		}
		later(10 * time.Second)
		if r := lastOf[*kibitz.Roster](ann); len(r.Members) != 3 {
			t.Errorf("gone after 11 s: %+v", r)
		}
		later(2 * time.Second)
		if r := lastOf[*kibitz.Roster](ann); len(r.Members) != 1 {
			t.Errorf("still here after 13 s: %+v", r)
		}
		seq := ann.say("while they are away")
		ann.refused(kibitz.ToUnknown, obj{"t": "send", "to": ben.self.ID, "c": obj{"k": "chat", "text": "x"}})
		later(100 * time.Second)
		b := ben.back(h, 0)
		if got := b.heard(); len(got) != 1 || got[0] != seq || b.self.ID != ben.self.ID {
			t.Errorf("%v %+v", got, b.self)
		}
		later(10 * time.Second)
		if l := want[*kibitz.Lobby](cat.resume(h, 0, nil)); l.Code != kibitz.ResumeUnknown {
			t.Errorf("resumed after 123 s: %+v", l)
		}
	})
}

func TestWhoSaysNothingAtTheDoorIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		id := h.open("r", openTo())
		c := h.dial(id, nil)
		later(29 * time.Second)
		if !c.open() {
			t.Error("closed too soon")
		}
		later(2 * time.Second)
		c.closed(kibitz.CloseSlow)
		h.command(id, kibitz.OpLobbyOn, "")
		w := h.dial(id, nil)
		w.send(obj{"t": "voice", "on": true})
		want[*kibitz.Lobby](w)
		later(9 * time.Minute)
		if !w.open() {
			t.Error("out of the lobby too soon")
		}
		later(2 * time.Minute)
		w.closed(kibitz.CloseSlow)
	})
}

// A token of an identity provider names the connection it is for, so whoever signs in needs it
// to last.
func TestWhoSignsInElsewhereIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		oidc := obj{"issuer": "https://id.example", "clientId": "rooms", "jwksUri": "https://id.example/keys", "authUri": "https://id.example/authorize"}
		id := h.open("r", obj{"humans": obj{"mode": "oidc", "oidc": oidc}})
		c := h.dial(id, nil)
		if got := lastOf[*kibitz.Hello](c).SignIn; got == nil || got.AuthURI != "https://id.example/authorize" || got.ClientID != "rooms" {
			t.Errorf("the door says %+v, want where to sign in", got)
		}
		later(time.Minute)
		c.send(obj{"t": "voice", "on": true})
		if l := want[*kibitz.Lobby](c); l.Code != kibitz.GateMissing {
			t.Errorf("without a token: %+v", l)
		}
		later(9 * time.Minute)
		if !c.open() {
			t.Error("closed while somebody may be signing in")
		}
		later(2 * time.Minute)
		c.closed(kibitz.CloseSlow)
	})
}

func TestAGrantEndsByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		key := newKey(t)
		id := h.open("r", openTo(key))
		host, bot := h.host(id), h.agent(id, key, nil)
		until := time.Now().Add(time.Minute)
		host.ok(obj{"t": "grant", "id": bot.self.ID, "grant": obj{"perceive": []string{"read-chat", "read-roster"}, "act": []string{"send-chat"}, "expiresAt": until.Unix()}})
		bot.say("in time")
		later(59 * time.Second)
		bot.say("still in time")
		later(2 * time.Second)
		bot.refused(kibitz.ActDenied, chat("too late"))
		if g := lastOf[*kibitz.Caps](host).Grants[bot.self.ID]; g.String() != "nothing" {
			t.Errorf("%+v", g)
		}
		host.say("it does not hear this")
		later(time.Second)
		if strings.Contains(bot.everything(), "does not hear") {
			t.Error("perceived after expiry")
		}
		if e := h.entries(id, "expired"); len(e) != 1 || e[0].ID != bot.self.ID {
			t.Errorf("%+v", e)
		}
	})
}

func TestAKeyIsProvenAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		key := newKey(t)
		id := h.open("r", openTo(key))
		good, lazy := h.agent(id, key, nil), h.agent(id, key, nil)
		later(239 * time.Second)
		if lastOf[*kibitz.Challenge](good) != nil {
			t.Error("asked too soon")
		}
		later(2 * time.Second)
		old := lazy.proof(key)
		want[*kibitz.Challenge](good)
		want[*kibitz.Challenge](lazy)
		good.ok(obj{"t": "voice", "on": true, "agentAssertion": good.proof(key)})
		bad := newKey(t)
		lazy.refused(kibitz.GateUnlisted, obj{"t": "voice", "on": true, "agentAssertion": lazy.proof(bad)})
		_ = old
		later(61 * time.Second)
		if k := want[*kibitz.Kick](lazy); k.Code != kibitz.GateStale {
			t.Errorf("%+v", k)
		}
		lazy.closed(kibitz.CloseKicked)
		if !good.open() {
			t.Error("the good one was closed too")
		}
		good.settled()
		later(240 * time.Second)
		want[*kibitz.Challenge](good)
	})
}

// mint signs credits of the fake clock.
type mint struct {
	t    testing.TB
	sign jose.Signer
	jwks []byte
	down bool
}

func newMint(t testing.TB) *mint {
	t.Helper()
	key := must(rsa.GenerateKey(rand.Reader, 2048))(t)
	m := &mint{t: t}
	m.sign = must(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil))(t)
	m.jwks = must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}}))(t)
	return m
}

func (m *mint) fetch(context.Context, string) ([]byte, error) {
	if m.down {
		return nil, errors.New("down")
	}
	return m.jwks, nil
}

func (m *mint) credit(sub string, life time.Duration) string {
	m.t.Helper()
	now := time.Now()
	return must(jwt.Signed(m.sign).Claims(obj{"iss": "https://mint.example", "sub": sub, "iat": now.Unix(), "exp": now.Add(life).Unix()}).Serialize())(m.t)
}

func TestALapsedCreditEndsThePresence(t *testing.T) {
	m := newMint(t)
	synctest.Test(t, func(t *testing.T) {
		h := alone(t, withFetch(m.fetch))
		key := newKey(t)
		p := openTo(key)
		p["credits"] = obj{"requireAgentCredits": true, "issuer": []string{"https://mint.example"}, "jwksUri": "https://mint.example/jwks"}
		id := h.open("r", p)
		pays, lapses, away := h.agent(id, key, obj{"agentCredit": m.credit("a", time.Minute)}), h.agent(id, key, obj{"agentCredit": m.credit("b", time.Minute)}), h.agent(id, key, obj{"agentCredit": m.credit("c", time.Minute)})
		later(50 * time.Second)
		pays.ok(obj{"t": "voice", "on": true, "agentCredit": m.credit("a", 3*time.Minute)})
		m.down = true // what is cached is enough
		later(40 * time.Second)
		away.gone()
		later(59 * time.Second) // 149 s: one second before exp + 90
		if !lapses.open() {
			t.Error("reaped too soon")
		}
		later(2 * time.Second)
		if k := want[*kibitz.Kick](lapses); k.Code != kibitz.CreditLapsed {
			t.Errorf("%+v", k)
		}
		lapses.closed(kibitz.CloseKicked)
		if l := want[*kibitz.Lobby](away.resume(h, 0, nil)); l.Code != kibitz.CreditLapsed && l.Code != kibitz.ResumeUnknown {
			t.Errorf("%+v", l)
		}
		if !pays.open() {
			t.Error("the one that pays was reaped")
		}
		if e := h.entries(id, "reaped"); len(e) != 1 || e[0].ID != lapses.self.ID {
			t.Errorf("%+v", e)
		}
	})
}

func TestTheRingIsBoundedAndTellsWhatItLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		id := h.open("r", openTo())
		host, ben := h.host(id), h.guest(id, "Ben")
		since := host.say("seen")
		ben.gone()
		host.ok(schema("kept")) // falls out of the ring, and is retained
		var last uint64
		for range 1100 {
			last = host.ok(chat("x")).Seq
		}
		host.ok(obj{"t": "voice", "on": true, "name": "Host"})
		b := ben.back(h, since)
		gap := lastOf[*kibitz.Gap](b)
		got := b.heard()
		if gap == nil || gap.From != since+1 || len(got) != 1001 || got[0] != since+1 || got[len(got)-1] != last || gap.To != last-1000 {
			t.Errorf("%+v: %d numbers, first %v", gap, len(got), got[:min(3, len(got))])
		}
	})
}

func TestFloodsOfRefusalsAreAggregated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		key := newKey(t)
		id := h.open("r", openTo(key))
		bot := h.agent(id, key, nil)
		for range 120 {
			bot.refused(kibitz.ActDenied, chat("x"))
		}
		later(2 * time.Minute)
		e := h.entries(id, "blocked")
		if len(e) != 21 || e[20].Count != 100 || e[0].Count != 0 {
			t.Errorf("%d entries, last %+v", len(e), e[len(e)-1])
		}
	})
}

func TestWithheldMessagesAreCountedPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		p := openTo()
		p["humans"].(obj)["guestGrant"] = obj{"perceive": []string{"read-roster"}}
		id := h.open("r", p)
		host, guest := h.host(id), h.guest(id, "Guest")
		for range 7 {
			host.say("not for guests")
		}
		later(2 * time.Minute)
		e := h.entries(id, "withheld")
		if len(e) != 1 || e[0].Count != 7 || e[0].ID != guest.self.ID || len(guest.heard()) != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestTheRoomAsAWholeHasARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t, withRates)
		id := h.open("r", openTo())
		var all []*client
		for range 15 {
			all = append(all, h.guest(id, "G"))
		}
		taken, refused := 0, 0
		for range 40 {
			for _, c := range all {
				if ack, nak := c.ask(chat("x")); ack != nil {
					taken++
				} else if nak.Code == kibitz.LimitRate && nak.RetryMs > 0 {
					refused++
				}
			}
		}
		if taken != 400 || refused != 200 {
			t.Errorf("%d taken, %d refused", taken, refused)
		}
	})
}

func TestRostersComeAtMostFiveTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		id := h.open("r", openTo())
		ann, ben := h.guest(id, "Ann"), h.guest(id, "Ben")
		later(time.Second)
		before := strings.Count(ann.everything(), `"t":"roster"`)
		for range 100 {
			ben.ok(obj{"t": "voice", "on": true, "name": "Ben", "cam": true})
			later(10 * time.Millisecond)
		}
		later(time.Second)
		if n := strings.Count(ann.everything(), `"t":"roster"`) - before; n < 5 || n > 7 {
			t.Errorf("%d rosters in a second of changes", n)
		}
	})
}

func TestAnEmptyRoomIsUnloadedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t, func(d *room.Deps) { d.Limits.Idle = 5 * time.Minute })
		id := h.open("r", openTo())
		c := h.guest(id, "Ann")
		c.send(obj{"t": "leave"})
		c.closed(1000)
		later(4 * time.Minute)
		if h.Stats().Rooms != 1 {
			t.Error("unloaded too soon")
		}
		later(2 * time.Minute)
		if h.Stats().Rooms != 0 {
			t.Error("still loaded")
		}
		h.guest(id, "Back")
	})
}

// What a room hands out for links through NAT is for those who are in it: with a credential of
// their own, a new one before that ends, and none once they have left.
func TestParticipantsHaveCredentialsForLinksWhileTheyAreIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := must(ice.New([]string{"stun:stun.example.org", "turn:turn.example.org"}, "secret", nil))(t)
		watched := &watchedICE{Servers: servers}
		h := alone(t, func(d *room.Deps) { d.ICE = watched })
		id := h.open("r", openTo())
		door := h.dial(id, nil)
		if hello := lastOf[*kibitz.Hello](door); len(hello.ICE) != 1 || hello.ICE[0].Credential != "" {
			t.Errorf("at the door: %+v, want the open server alone", hello.ICE)
		}
		ann := h.guest(id, "Ann")
		if got := ann.self.ICE; len(got) != 2 || !strings.HasSuffix(got[1].Username, ":"+ann.self.ID) || got[1].Credential == "" {
			t.Fatalf("inside: %+v, want a credential in the participant's name", got)
		}
		for i := range 3 {
			last := lastOf[*kibitz.ICE](ann)
			later(ice.Lifetime/2 - time.Second)
			if lastOf[*kibitz.ICE](ann) != last {
				t.Errorf("credential %d came before half of the last one's time", i+2)
			}
			later(time.Second)
			got := want[*kibitz.ICE](ann).ICE
			until, _, _ := strings.Cut(got[1].Username, ":")
			if end := must(strconv.ParseInt(until, 10, 64))(t); end != time.Now().Add(ice.Lifetime).Unix() {
				t.Errorf("the new credential ends at %d, want an hour from now", end)
			}
		}
		ann.gone()
		later(time.Second)
		if len(watched.left()) != 0 {
			t.Error("who is only away has lost its relays")
		}
		later(12 * time.Second)
		if diff := cmp.Diff([]string{ann.self.ID}, watched.left()); diff != "" {
			t.Errorf("who has left: %s", diff)
		}
		quiet := h.open("without-links", obj{"humans": obj{"mode": "open"}, "mesh": obj{"media": false, "data": false}})
		if ben := h.guest(quiet, "Ben"); ben.self.ICE != nil {
			t.Errorf("a room without links hands out %+v", ben.self.ICE)
		}
	})
}

// watchedICE remembers who left.
type watchedICE struct {
	*ice.Servers
	mu   sync.Mutex
	gone []string
}

func (w *watchedICE) Gone(who string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, who)
}

func (w *watchedICE) left() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.gone)
}
