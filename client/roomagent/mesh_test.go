package roomagent_test

import (
	"encoding/json"
	"errors"
	"testing"

	"parley.internal/client/roomagent"
	"parley.internal/protocol/kibitz"
)

func (p *place) mesh(t *testing.T, o roomagent.DialOptions) *roomagent.Mesh {
	t.Helper()
	o.HTTPClient = p.server.Client()
	m := must(roomagent.DialMesh(t.Context(), p.server.URL+"/r/table", o))(t)
	t.Cleanup(func() { _ = m.Leave() })
	return m
}

func TestAMeshCarriesDataBetweenGoAgents(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, `"mesh":{"media":true,"data":true},`, talker, a, b))
	one, two := p.mesh(t, roomagent.DialOptions{Name: "A", Key: a}), p.mesh(t, roomagent.DialOptions{Name: "B", Key: b})
	linked, heard, back := make(chan string, 9), make(chan json.RawMessage, 9), make(chan roomagent.Chat, 9)
	two.OnLink(func(id string) { linked <- id })
	two.OnMessage(func(d json.RawMessage, from string) {
		if from != one.Self().ID {
			t.Errorf("from %s", from)
		}
		heard <- d
	})
	// What is sent before the link is checked waits for it.
	if err := one.Broadcast(t.Context(), json.RawMessage(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	agent := roomagent.New(one)
	agent.OnChat(func(m roomagent.Chat) { back <- m })
	if got := next(t, linked); got != one.Self().ID {
		t.Errorf("linked with %s", got)
	}
	if err := one.SendTo(t.Context(), two.Self().ID, json.RawMessage(`"directed"`)); err != nil {
		t.Fatal(err)
	}
	for got := next(t, heard); string(got) != `"directed"`; got = next(t, heard) {
	}
	if err := roomagent.New(two).Say(t.Context(), "hello back"); err != nil {
		t.Fatal(err)
	}
	if got := next(t, back); got.Text != "hello back" || got.Name != "B" {
		t.Errorf("%+v; want got.Text to be \"hello back\", got.Name to be \"B\"", got)
	}
}

func TestOnAMeshGrantsHoldOnBothSides(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, `{"mesh":{"data":true},"humans":{"mode":"open"},"agents":{"mode":"gated","keys":[`+
		`{"key":`+string(must(json.Marshal(a.Public()))(t))+`,"caps":`+talker+`},`+
		`{"key":`+string(must(json.Marshal(b.Public()))(t))+`,"caps":`+watcher+`}]}}`)
	speaker, watch := p.mesh(t, roomagent.DialOptions{Name: "A", Key: a}), p.mesh(t, roomagent.DialOptions{Name: "B", Key: b})
	var denied *roomagent.DeniedError
	if err := watch.Broadcast(t.Context(), json.RawMessage(`1`)); !errors.As(err, &denied) || denied.Code != "act.denied" {
		t.Errorf("a watcher sent: %v", err)
	}
	heard := make(chan json.RawMessage, 9)
	watch.OnMessage(func(d json.RawMessage, _ string) { heard <- d })
	linked := make(chan string, 1)
	speaker.OnLink(func(id string) { linked <- id })
	next(t, linked)
	if err := speaker.Broadcast(t.Context(), json.RawMessage(`"may hear"`)); err != nil {
		t.Fatal(err)
	}
	next(t, heard)
	host := p.dial(t, roomagent.DialOptions{Name: "Host", Token: p.token, Person: true})
	caps := make(chan kibitz.Grant, 9)
	speaker.OnGrant(func(kibitz.Grant) { caps <- speaker.GrantOf(watch.Self().ID) })
	if err := host.Grants(t.Context(), watch.Self().ID, &kibitz.Grant{Perceive: []kibitz.Capability{kibitz.ReadRoster}}); err != nil {
		t.Fatal(err)
	}
	for next(t, caps).Has(kibitz.ReadChat) {
	}
	if err := speaker.SendTo(t.Context(), watch.Self().ID, json.RawMessage(`"no"`)); !errors.As(err, &denied) || denied.Code != "perceive.denied" {
		t.Errorf("sent to somebody who may not perceive: %v", err)
	}
}

// byes tells whose links somebody was told to give up.
func byes(conn *roomagent.Conn) <-chan string {
	ended := make(chan string, 99)
	conn.OnSignal(func(from string, d json.RawMessage) {
		if s, err := kibitz.ReadSignal(kibitz.Raw(d)); err == nil && s.Type == kibitz.SignalBye {
			ended <- from
		}
	})
	return ended
}

func TestALinkOfAnotherKeyIsClosedAndCarriesNothing(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, `"mesh":{"data":true},`, talker, a, b))
	honest := p.mesh(t, roomagent.DialOptions{Name: "A", Key: a})
	honest.OnLink(func(id string) { t.Errorf("a link with the liar %s was opened", id) })
	honest.OnMessage(func(d json.RawMessage, _ string) { t.Errorf("the liar was heard: %s", d) })
	liar := must(roomagent.DialLyingMesh(t.Context(), p.server.URL+"/r/table", roomagent.DialOptions{Name: "B", Key: b, HTTPClient: p.server.Client()}, newKey(t)))(t)
	t.Cleanup(func() { _ = liar.Leave() })
	ended := byes(liar.Conn)
	_ = liar.Broadcast(t.Context(), json.RawMessage(`"let me in"`))
	if got := next(t, ended); got != honest.Self().ID {
		t.Errorf("%s gave up the link", got)
	}
}

func TestAPairDialsOnce(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, `"mesh":{"data":true},`, talker, a, b))
	one, two := p.mesh(t, roomagent.DialOptions{Name: "A", Key: a}), p.mesh(t, roomagent.DialOptions{Name: "B", Key: b})
	offers := make(chan string, 99)
	for _, m := range []*roomagent.Mesh{one, two} {
		m.OnSignal(func(from string, d json.RawMessage) {
			if s, err := kibitz.ReadSignal(kibitz.Raw(d)); err == nil && s.Type == kibitz.SignalOffer {
				offers <- from
			}
		})
	}
	linked := make(chan string, 9)
	one.OnLink(func(id string) { linked <- id })
	two.OnLink(func(id string) { linked <- id })
	next(t, linked)
	next(t, linked)
	smaller := min(one.Self().ID, two.Self().ID)
	for len(offers) > 0 {
		if from := <-offers; from != smaller {
			t.Errorf("%s offered although %s is smaller", from, smaller)
		}
	}
	if err := errors.Join(one.SendTo(t.Context(), two.Self().ID, json.RawMessage(`1`)), two.SendTo(t.Context(), one.Self().ID, json.RawMessage(`2`))); err != nil {
		t.Errorf("the one link does not carry both ways: %v", err)
	}
}

func TestALinkThatFailedIsTriedAgain(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, `"mesh":{"data":true},`, talker, a, b))
	one, two := p.mesh(t, roomagent.DialOptions{Name: "A", Key: a}), p.mesh(t, roomagent.DialOptions{Name: "B", Key: b})
	linked := make(chan string, 9)
	one.OnLink(func(id string) { linked <- id })
	next(t, linked)
	one.Break(two.Self().ID)
	next(t, linked)
	heard := make(chan json.RawMessage, 9)
	one.OnMessage(func(d json.RawMessage, _ string) { heard <- d })
	if err := two.Broadcast(t.Context(), json.RawMessage(`"again"`)); err != nil {
		t.Fatal(err)
	}
	next(t, heard)
}

// A tampered program may send what it likes: its peers drop it and tell the hub.
func TestWhatAPeerMayNotSayIsDroppedAndReported(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, `{"mesh":{"data":true},"humans":{"mode":"open"},"agents":{"mode":"gated","keys":[`+
		`{"key":`+string(must(json.Marshal(a.Public()))(t))+`,"caps":`+talker+`},`+
		`{"key":`+string(must(json.Marshal(b.Public()))(t))+`,"caps":`+watcher+`}]}}`)
	honest, tampered := p.mesh(t, roomagent.DialOptions{Name: "A", Key: a}), p.mesh(t, roomagent.DialOptions{Name: "B", Key: b})
	honest.OnMessage(func(d json.RawMessage, _ string) { t.Errorf("it was heard: %s", d) })
	linked, blocked := make(chan string, 9), make(chan string, 9)
	tampered.OnLink(func(id string) { linked <- id })
	honest.OnBlocked(func(id string) { blocked <- id })
	next(t, linked)
	tampered.Over(honest.Self().ID, `{"k":"app","data":{"__kib_agent":"act","action":1}}`)
	if got := next(t, blocked); got != tampered.Self().ID {
		t.Errorf("%s was blocked", got)
	}
	for !p.audited(t, "blocked", honest.Self().ID, tampered.Self().ID, "act") { // the report is on its way
	}
}

func TestWithoutMeshDataTheRelayCarriesContentAndLinksCarryNone(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, "", talker, a, b))
	one, two := p.mesh(t, roomagent.DialOptions{Name: "A", Key: a}), p.mesh(t, roomagent.DialOptions{Name: "B", Key: b})
	linked, heard := make(chan string, 9), make(chan json.RawMessage, 9)
	one.OnLink(func(id string) { linked <- id })
	two.OnMessage(func(d json.RawMessage, _ string) { heard <- d })
	next(t, linked)
	one.Over(two.Self().ID, `{"k":"app","data":"past the hub"}`)
	if err := one.Broadcast(t.Context(), json.RawMessage(`"by the hub"`)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, heard); string(got) != `"by the hub"` {
		t.Errorf("%s; want string(got) to be \"\"by the hub\"\"", got)
	}
	if p.roster(t).Seq == 0 {
		t.Error("it did not go through the hub")
	}
}
