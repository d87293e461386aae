package roomagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/protocol/kibitz"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(PeerVariable); config != "" {
		if err := bePeer(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// fake is a controller in the hands of a test.
type fake struct {
	mu       sync.Mutex
	sent     []sentItem
	meta     map[string]any
	left     int
	list     []Participant
	messages listeners[message]
	changes  listeners[[]Participant]
}

type sentItem struct {
	Data json.RawMessage `json:"data"`
	To   string          `json:"to,omitempty"`
}

func (f *fake) Broadcast(ctx context.Context, data json.RawMessage) error {
	return f.SendTo(ctx, "", data)
}

func (f *fake) SendTo(_ context.Context, to string, data json.RawMessage) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, sentItem{data, to})
	return nil
}

func (f *fake) OnMessage(fn func(json.RawMessage, string)) func() {
	return f.messages.add(func(m message) { fn(m.data, m.from) })
}
func (f *fake) Participants() []Participant                       { return f.list }
func (f *fake) OnParticipants(fn func([]Participant)) func()      { return f.changes.add(fn) }
func (f *fake) SetMeta(_ context.Context, m map[string]any) error { f.meta = m; return nil }
func (f *fake) Leave() error                                      { f.left++; return nil }

// granted is a fake that knows grants.
type granted struct {
	*fake
	grant kibitz.Grant
}

func (g granted) Grant() kibitz.Grant               { return g.grant }
func (g granted) OnGrant(func(kibitz.Grant)) func() { return func() {} }

type step struct {
	Hear   json.RawMessage `json:"hear"`
	From   string          `json:"from"`
	Roster []Participant   `json:"roster"`
	Say    *string         `json:"say"`
	Act    json.RawMessage `json:"act"`
	Send   json.RawMessage `json:"send"`
	To     string          `json:"to"`
	Leave  bool            `json:"leave"`
	Fails  string          `json:"fails"`
}

type sdkCase struct {
	Name    string `json:"name"`
	Options struct {
		ReadOnly bool   `json:"readOnly"`
		Backend  string `json:"backend"`
		Egress   bool   `json:"egress"`
	} `json:"options"`
	Roster  []Participant              `json:"roster"`
	Grant   *kibitz.Grant              `json:"grant"`
	Steps   []step                     `json:"steps"`
	Meta    map[string]any             `json:"meta"`
	Sent    *[]sentItem                `json:"sent"`
	Views   *[]json.RawMessage         `json:"views"`
	Chats   *[]Chat                    `json:"chats"`
	Data    *[]json.RawMessage         `json:"data"`
	Rosters *[][]string                `json:"rosters"`
	CanAct  *bool                      `json:"canAct"`
	Left    *int                       `json:"left"`
	Extra   map[string]json.RawMessage `json:"-"`
}

func (c sdkCase) run(t *testing.T, view json.RawMessage, hasView bool) {
	base := &fake{list: c.Roster}
	var ctrl Controller = base
	if c.Grant != nil {
		ctrl = granted{base, *c.Grant}
	}
	opts := []Option{Backend(c.Options.Backend)}
	if c.Options.ReadOnly {
		opts = append(opts, ReadOnly())
	}
	if c.Options.Egress {
		opts = append(opts, Egress())
	}
	a := New(ctrl, opts...)
	views, chats, data, rosters := []json.RawMessage{}, []Chat{}, []json.RawMessage{}, [][]string{}
	a.OnView(func(v json.RawMessage, _ string) {
		if !sameJSON(v, a.View()) {
			t.Errorf("in the callback the view is %s, told %s", a.View(), v)
		}
		views = append(views, v)
	})
	a.OnChat(func(m Chat) { chats = append(chats, m) })
	a.OnData(func(d json.RawMessage, _ string) { data = append(data, d) })
	a.OnRoster(func(list []Participant) {
		ids := []string{}
		for _, p := range list {
			ids = append(ids, p.ID)
		}
		rosters = append(rosters, ids)
	})
	for _, s := range c.Steps {
		err := s.do(t.Context(), base, a)
		switch {
		case s.Fails == "" && err != nil:
			t.Errorf("failed: %v", err)
		case s.Fails != "" && (err == nil || !strings.Contains(err.Error(), s.Fails)):
			t.Errorf("error %v, want %q in it", err, s.Fails)
		}
		synctest.Wait()
	}
	check := func(what string, got, want any) {
		t.Helper()
		if !sameJSON(mustJSON(t, got), mustJSON(t, want)) {
			t.Errorf("%s: %s, want %s", what, mustJSON(t, got), mustJSON(t, want))
		}
	}
	if c.Meta != nil {
		check("meta", base.meta, c.Meta)
	}
	if c.Sent != nil {
		check("sent", append([]sentItem{}, base.sent...), *c.Sent)
	}
	if c.Views != nil {
		check("views", views, *c.Views)
	}
	if c.Chats != nil {
		check("chats", chats, *c.Chats)
	}
	if c.Data != nil {
		check("data", data, *c.Data)
	}
	if c.Rosters != nil {
		check("rosters", rosters, *c.Rosters)
	}
	if c.CanAct != nil && a.CanAct() != *c.CanAct {
		t.Errorf("can act: %v", a.CanAct())
	}
	if c.Left != nil && base.left != *c.Left {
		t.Errorf("left %d times", base.left)
	}
	if hasView {
		check("view", a.View(), view)
	}
}

func (s step) do(ctx context.Context, f *fake, a *Agent) error {
	switch {
	case s.Hear != nil:
		f.messages.call(message{s.Hear, s.From})
	case s.Roster != nil:
		f.list = s.Roster
		f.changes.call(s.Roster)
	case s.Say != nil:
		return a.Say(ctx, *s.Say)
	case s.Act != nil:
		return a.ActTo(ctx, s.To, s.Act)
	case s.Send != nil:
		return a.Send(ctx, s.Send, s.To)
	case s.Leave:
		return a.Leave()
	}
	return nil
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	if raw, ok := v.(json.RawMessage); ok && raw == nil {
		return []byte("null")
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// The table is the JavaScript SDK's too.
func TestTheTableOfCasesOfBothSDKs(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 20 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, raw := range file.Cases {
		var c sdkCase
		var keys map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(raw, &c), json.Unmarshal(raw, &keys)); err != nil {
			t.Fatal(err)
		}
		view, has := keys["view"]
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, view, has) })
		})
	}
}

func TestACallbackMayUnsubscribeAndSpeakAndPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		a := New(f)
		var seen []string
		var off func()
		off = a.OnData(func(json.RawMessage, string) {
			seen = append(seen, "once")
			off()
			_ = a.Say(t.Context(), "from inside")
			panic("mine")
		})
		a.OnData(func(json.RawMessage, string) { seen = append(seen, "always") })
		f.messages.call(message{json.RawMessage("1"), "p"})
		f.messages.call(message{json.RawMessage("2"), "p"})
		synctest.Wait()
		if diff := cmp.Diff([]string{"once", "always", "always"}, seen); diff != "" {
			t.Error(diff)
		}
		if len(f.sent) != 1 {
			t.Errorf("sent %v", f.sent)
		}
	})
}

func TestWithoutSchemasAndGrantsThereAreNone(t *testing.T) {
	a := New(&fake{})
	if a.Schemas() != nil {
		t.Error("schemas from nowhere")
	}
	a.OnSchema(func(Schema) {})()
	a.OnGrant(func(kibitz.Grant) {})()
	if _, known := a.Grant(); known {
		t.Error("a grant from nowhere")
	}
}

func TestABridgeAgentSeesAndTalks(t *testing.T) {
	var said []string
	b := Bridge{
		OnView: func(func(json.RawMessage)) func() { return func() {} }, View: func() json.RawMessage { return json.RawMessage("7") },
		OnChat: func(func(Chat)) func() { return func() {} },
		Say:    func(_ context.Context, text string) error { said = append(said, text); return nil },
	}
	if err := FromBridge(b).Say(t.Context(), "hi"); err != nil {
		t.Error(err)
	}
	quiet := FromBridge(b, ReadOnly())
	if err := quiet.Say(t.Context(), "no"); !errors.Is(err, ErrReadOnly) || quiet.CanAct() || string(quiet.View()) != "7" {
		t.Errorf("%v %v %s", err, quiet.CanAct(), quiet.View())
	}
	if diff := cmp.Diff([]string{"hi"}, said); diff != "" {
		t.Error(diff)
	}
}

func TestCooldown(t *testing.T) {
	start := time.Unix(1000, 0)
	c := NewCooldown(6 * time.Second)
	for range 2 { // asking does not stamp
		if !c.Ready(start) {
			t.Error("never stamped, not ready")
		}
	}
	c.Stamp(start)
	if c.Ready(start.Add(6*time.Second - 1)) {
		t.Error("ready too early")
	}
	if !c.Ready(start.Add(6 * time.Second)) {
		t.Error("not ready in time")
	}
}
