package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

// maxWaiting is how many lines, and how much data, wait for a model that does
// not look; the oldest go first.
const maxWaiting = 500

// seat is a model's place in a room. The room writes to it from its own
// goroutine; the model looks when it likes.
type seat struct {
	id       string
	room     string
	readOnly bool
	key      *kibitz.SealKey // of a sealed room, if the link had one
	visit    room.Connection

	mu      sync.Mutex
	changed chan struct{} // closed and renewed when anything happens
	fresh   bool          // something the model has not seen
	sealed  bool
	self    *kibitz.Self
	live    bool
	over    string // why it ended, "" while it has not
	door    kibitz.Lobby
	grant   kibitz.Grant
	members []kibitz.Member
	view    sight
	lines   []line
	data    []datum
	// schemas are by publisher and name: nobody describes another's app.
	schemas map[string]map[string]json.RawMessage
	dropped int
	next    int64
	answers map[int64]chan any // *kibitz.Ack or *kibitz.Nak
}

// sight is the newest view.
type sight struct {
	seq  uint64
	from string
	view json.RawMessage
}

// line is something said.
type line struct {
	Seq  uint64      `json:"seq"`
	From string      `json:"from"`
	Name string      `json:"name"`
	Kind kibitz.Kind `json:"kind"`
	Text string      `json:"text"`
	To   string      `json:"to,omitempty"`
}

// datum is something an app sent that is neither words nor a view.
type datum struct {
	Seq  uint64          `json:"seq"`
	From string          `json:"from"`
	Data json.RawMessage `json:"data"`
}

func newSeat(id string, readOnly bool) *seat {
	return &seat{
		id: id, readOnly: readOnly, changed: make(chan struct{}), schemas: map[string]map[string]json.RawMessage{}, answers: map[int64]chan any{},
		grant: kibitz.Grant{Perceive: []kibitz.Capability{}, Act: []kibitz.Capability{}}, members: []kibitz.Member{},
	}
}

// Send implements room.Link.
func (s *seat) Send(o *room.Out) {
	frame, err := kibitz.DecodeHub(o.Data)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f := frame.(type) {
	case *kibitz.Ack:
		s.answered(f.N, f)
		return
	case *kibitz.Nak:
		s.answered(f.N, f)
		return
	case *kibitz.Hello:
		s.sealed = f.Sealed.On()
	case *kibitz.Lobby:
		s.door = *f
	case *kibitz.Self:
		s.self, s.grant = f, f.Grant
	case *kibitz.Live:
		s.live = true
	case *kibitz.Roster:
		s.members, s.fresh = f.Members, true
	case *kibitz.Caps:
		s.regrant(f)
	case *kibitz.From:
		s.hear(f)
	case *kibitz.Kick:
		s.over = string(f.Code)
	}
	s.wake()
}

// Close implements room.Link.
func (s *seat) Close(int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == "" {
		s.over = "room.closed"
	}
	for n := range s.answers {
		s.answered(n, nil)
	}
	s.wake()
}

// Admitted implements room.Link.
func (s *seat) Admitted() {}

// wake tells whoever waits; mu is held, as in all of the following.
func (s *seat) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *seat) answered(n int64, with any) {
	if waiting, ok := s.answers[n]; ok {
		delete(s.answers, n)
		waiting <- with
	}
}

func (s *seat) regrant(f *kibitz.Caps) {
	if s.self == nil {
		return
	}
	if g, ok := f.Grants[s.self.ID]; ok {
		s.grant, s.fresh = g, true
	}
}

// hear sorts what comes into words, views, schemas and data. Own lines are no news.
func (s *seat) hear(f *kibitz.From) {
	c := f.C
	if s.sealed {
		if s.key == nil {
			return // who cannot open a box drops it
		}
		open, err := s.key.Unseal(c, f.To)
		if err != nil {
			return
		}
		c = open
	}
	var content struct {
		K    kibitz.ContentKind `json:"k"`
		Text string             `json:"text"`
		Data json.RawMessage    `json:"data"`
		Name string             `json:"name"`
	}
	if json.Unmarshal(c, &content) != nil {
		return
	}
	own := s.self != nil && f.From == s.self.ID
	switch content.K {
	case kibitz.ContentChat:
		s.say(f, content.Text, own)
	case kibitz.ContentApp:
		s.app(f, content.Data, own)
	case kibitz.ContentSchema:
		of := maps.Clone(s.schemas[f.From]) // what the model was shown is not changed
		if of == nil {
			of = map[string]json.RawMessage{}
		}
		of[content.Name] = json.RawMessage(c)
		s.schemas[f.From], s.fresh = of, true
	}
}

func (s *seat) app(f *kibitz.From, data json.RawMessage, own bool) {
	kind, payload := kibitz.OpenEnvelope(kibitz.Raw(data))
	switch kind {
	case kibitz.EnvelopeChat:
		var text string
		if json.Unmarshal(payload, &text) == nil {
			s.say(f, text, own)
		}
	case kibitz.EnvelopeView:
		s.view, s.fresh = sight{seq: f.Seq, from: f.From, view: json.RawMessage(payload)}, true
	case kibitz.EnvelopeNone:
		if !own && !f.Retained {
			s.data = append(s.data, datum{f.Seq, f.From, data})
			s.fresh = true
			s.data = cut(s, s.data)
		}
	}
}

func (s *seat) say(f *kibitz.From, text string, own bool) {
	if own {
		return
	}
	l := line{Seq: f.Seq, From: f.From, Text: text, To: f.To, Kind: kibitz.Human}
	if at := slices.IndexFunc(s.members, func(m kibitz.Member) bool { return m.ID == f.From }); at >= 0 {
		l.Name, l.Kind = s.members[at].Name, s.members[at].Kind
	}
	s.lines, s.fresh = append(s.lines, l), true
	s.lines = cut(s, s.lines)
}

// cut drops the oldest of what waits too long a queue.
func cut[T any](s *seat, list []T) []T {
	if over := len(list) - maxWaiting; over > 0 {
		s.dropped += over
		list = slices.Delete(list, 0, over)
	}
	return list
}

// until waits for a condition, which is asked with mu held; false when ctx ended.
func (s *seat) until(ctx context.Context, ok func() bool) bool {
	for {
		s.mu.Lock()
		met, changed := ok(), s.changed
		s.mu.Unlock()
		if met {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// ask sends a frame that the room answers.
func (s *seat) ask(ctx context.Context, make func(n int64) kibitz.Frame) (any, error) {
	answer := newAnswer()
	s.mu.Lock()
	if s.over != "" {
		s.mu.Unlock()
		return nil, notJoined()
	}
	s.next++
	n := s.next
	s.answers[n] = answer
	s.mu.Unlock()
	data, err := kibitz.Encode(make(n))
	if err != nil {
		return nil, err
	}
	s.visit.Receive(data)
	select {
	case got := <-answer:
		if got == nil {
			return nil, notJoined()
		}
		return got, nil
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.answers, n)
		s.mu.Unlock()
		return nil, ctx.Err()
	}
}

// newAnswer has room for the one answer, so that the room never waits.
func newAnswer() chan any { return make(chan any, 1) }

// appContent is an envelope as it is sent, sealed where the room is.
func (s *seat) appContent(data kibitz.Raw, to string) (kibitz.Raw, error) {
	c, err := json.Marshal(map[string]any{"k": kibitz.ContentApp, "data": json.RawMessage(data)})
	if err != nil || !s.sealed || s.key == nil {
		return kibitz.Raw(c), err
	}
	var nonce [12]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	return s.key.Seal(nonce, kibitz.Raw(c), to)
}

// splitLink takes a room's name, and the key of a sealed one, out of a link.
func splitLink(text string) (name, secret string) {
	name, fragment, _ := strings.Cut(text, "#")
	for part := range strings.SplitSeq(fragment, "&") {
		if value, ok := strings.CutPrefix(part, "k="); ok {
			secret = value
		}
	}
	if at := strings.LastIndex(name, "/r/"); at >= 0 && strings.Contains(name, "://") {
		name = name[at+len("/r/"):]
	}
	name, _, _ = strings.Cut(name, "?")
	return strings.Trim(name, "/"), secret
}
