package roomagent

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"parley.internal/protocol/kibitz"
)

// Chat is a line somebody said.
type Chat struct {
	From string `json:"from"`
	// Name comes from the roster when the line arrives; empty if unknown.
	Name string `json:"name"`
	Text string `json:"text"`
}

// Option changes what an agent is.
type Option func(*settings)

type settings struct {
	readOnly bool
	backend  string
	egress   bool
}

// ReadOnly makes an agent that perceives and sends nothing.
func ReadOnly() Option { return func(s *settings) { s.readOnly = true } }

// Backend discloses the model that what the agent perceives goes to.
func Backend(name string) Option { return func(s *settings) { s.backend = name } }

// Egress discloses that what the agent perceives leaves the room.
func Egress() Option { return func(s *settings) { s.egress = true } }

// meta is what the agent says about itself, exactly.
func (s settings) meta() map[string]any {
	m := map[string]any{"role": "agent", "readOnly": s.readOnly}
	if s.backend != "" {
		m["backend"] = s.backend
	}
	if s.backend != "" || s.egress {
		m["egress"] = true
	}
	return m
}

type message struct {
	data json.RawMessage
	from string
}

// Agent is an agent in a room.
type Agent struct {
	ctrl     Controller
	settings settings

	views   listeners[message]
	chats   listeners[Chat]
	data    listeners[message]
	rosters listeners[[]Participant]
	work    queue

	mu     sync.Mutex
	view   json.RawMessage
	roster []Participant
	left   bool
	ends   []func()
}

// New makes an agent on a controller and says there what it is.
func New(ctrl Controller, opts ...Option) *Agent {
	a := &Agent{ctrl: ctrl, roster: ctrl.Participants()}
	for _, o := range opts {
		o(&a.settings)
	}
	// A controller that is not in the room yet announces it when it is.
	_ = ctrl.SetMeta(context.Background(), a.settings.meta())
	a.ends = []func(){ctrl.OnMessage(a.heard), ctrl.OnParticipants(a.saw)}
	return a
}

// heard sorts what arrives. The view is kept before anybody is told, so that
// every callback finds the newest.
func (a *Agent) heard(data json.RawMessage, from string) {
	kind, inside := kibitz.OpenEnvelope(kibitz.Raw(data))
	a.mu.Lock()
	if a.left {
		a.mu.Unlock()
		return
	}
	a.mu.Unlock()
	switch kind {
	case kibitz.EnvelopeView:
		a.do(func() {
			a.mu.Lock()
			a.view = json.RawMessage(inside)
			a.mu.Unlock()
			a.views.call(message{json.RawMessage(inside), from})
		})
	case kibitz.EnvelopeChat:
		var text string
		_ = json.Unmarshal(inside, &text)
		line := Chat{From: from, Name: a.nameOf(from), Text: text}
		a.do(func() { a.chats.call(line) })
	case kibitz.EnvelopeNone:
		a.do(func() { a.data.call(message{data, from}) })
	}
}

func (a *Agent) nameOf(id string) string {
	for _, p := range a.ctrl.Participants() {
		if p.ID == id {
			return p.Name
		}
	}
	return ""
}

func (a *Agent) saw(list []Participant) {
	a.mu.Lock()
	same := a.left || reflect.DeepEqual(list, a.roster)
	if !same {
		a.roster = list
	}
	a.mu.Unlock()
	if !same {
		a.do(func() { a.rosters.call(list) })
	}
}

// do runs a callback in its turn, unless the agent has left by then.
func (a *Agent) do(run func()) {
	a.work.do(func() {
		a.mu.Lock()
		left := a.left
		a.mu.Unlock()
		if !left {
			run()
		}
	})
}

// OnView is told every view of the app.
func (a *Agent) OnView(fn func(view json.RawMessage, from string)) (unsubscribe func()) {
	return a.views.add(func(m message) { fn(m.data, m.from) })
}

// View is the newest view; nil before the first.
func (a *Agent) View() json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.view
}

// OnChat is told every line agents and apps say to agents.
func (a *Agent) OnChat(fn func(Chat)) (unsubscribe func()) { return a.chats.add(fn) }

// OnData is told app data that is no envelope.
func (a *Agent) OnData(fn func(data json.RawMessage, from string)) (unsubscribe func()) {
	return a.data.add(func(m message) { fn(m.data, m.from) })
}

// OnRoster is told when who is there changes.
func (a *Agent) OnRoster(fn func([]Participant)) (unsubscribe func()) { return a.rosters.add(fn) }

// Roster is who is there.
func (a *Agent) Roster() []Participant { return a.ctrl.Participants() }

// OnSchema is told schemas; where the controller has none it is never called.
func (a *Agent) OnSchema(fn func(Schema)) (unsubscribe func()) {
	if s, ok := a.ctrl.(SchemaSource); ok {
		return s.OnSchema(func(v Schema) { a.do(func() { fn(v) }) })
	}
	return func() {}
}

// Schemas are those published so far.
func (a *Agent) Schemas() []Schema {
	if s, ok := a.ctrl.(SchemaSource); ok {
		return s.Schemas()
	}
	return nil
}

// OnGrant is told when what the agent may do changes.
func (a *Agent) OnGrant(fn func(kibitz.Grant)) (unsubscribe func()) {
	if s, ok := a.ctrl.(GrantSource); ok {
		return s.OnGrant(func(v kibitz.Grant) { a.do(func() { fn(v) }) })
	}
	return func() {}
}

// Grant is what the agent may do now, where the controller knows.
func (a *Agent) Grant() (kibitz.Grant, bool) {
	if s, ok := a.ctrl.(GrantSource); ok {
		return s.Grant(), true
	}
	return kibitz.Grant{}, false
}

// CanAct reports whether saying or acting has a chance.
func (a *Agent) CanAct() bool {
	if a.settings.readOnly {
		return false
	}
	g, known := a.Grant()
	return !known || g.Has(kibitz.SendChat) || g.Has(kibitz.Act)
}

// Say says something to everybody.
func (a *Agent) Say(ctx context.Context, text string) error {
	data, err := kibitz.ChatEnvelope(text)
	if err != nil {
		return err
	}
	return a.send(ctx, json.RawMessage(data), "")
}

// Act asks the app to do something; everybody reads it.
func (a *Agent) Act(ctx context.Context, action json.RawMessage) error {
	return a.ActTo(ctx, "", action)
}

// ActTo asks the app that is participant to, so that nobody else reads it.
func (a *Agent) ActTo(ctx context.Context, to string, action json.RawMessage) error {
	data, err := kibitz.ActEnvelope(kibitz.Raw(action))
	if err != nil {
		return err
	}
	return a.send(ctx, json.RawMessage(data), to)
}

// Send sends raw data, to everybody when to is empty.
func (a *Agent) Send(ctx context.Context, data json.RawMessage, to string) error {
	return a.send(ctx, data, to)
}

func (a *Agent) send(ctx context.Context, data json.RawMessage, to string) error {
	a.mu.Lock()
	left := a.left
	a.mu.Unlock()
	switch {
	case a.settings.readOnly:
		return ErrReadOnly
	case left:
		return ErrLeft
	case to != "":
		return a.ctrl.SendTo(ctx, to, data)
	default:
		return a.ctrl.Broadcast(ctx, data)
	}
}

// Leave leaves the room; again it does nothing.
func (a *Agent) Leave() error {
	a.mu.Lock()
	if a.left {
		a.mu.Unlock()
		return nil
	}
	a.left = true
	ends := a.ends
	a.mu.Unlock()
	for _, end := range ends {
		end()
	}
	return a.ctrl.Leave()
}
