package roommcp

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"parley.internal/client/roomagent"
	"parley.internal/protocol/kibitz"
)

// maxWaiting is how many lines, and how much data, wait for a model that does not
// look; the oldest go first.
const maxWaiting = 500

// notes is what has happened in the room since the model last looked.
type notes struct {
	mu      sync.Mutex
	changed chan struct{} // closed and renewed when anything happens
	fresh   bool
	// links says that content is told by hear, with what came over links.
	links bool

	members  []kibitz.Member
	view     json.RawMessage
	viewSeq  uint64
	viewFrom string
	lines    []line
	data     []datum
	// schemas are by publisher and name: nobody describes another's app.
	schemas map[string]map[string]json.RawMessage
	dropped int
}

type line struct {
	Seq  uint64      `json:"seq"`
	From string      `json:"from"`
	Name string      `json:"name"`
	Kind kibitz.Kind `json:"kind"`
	Text string      `json:"text"`
	To   string      `json:"to,omitempty"`
}

type datum struct {
	Seq  uint64          `json:"seq"`
	From string          `json:"from"`
	Data json.RawMessage `json:"data"`
}

func newNotes(links bool) *notes {
	return &notes{changed: make(chan struct{}), links: links, schemas: map[string]map[string]json.RawMessage{}}
}

// note wakes whoever waits; mu is held.
func (n *notes) note() {
	n.fresh = true
	close(n.changed)
	n.changed = make(chan struct{})
}

// frame learns from a frame of the room. A room sends nobody its own lines.
func (n *notes) frame(frame kibitz.Frame, _ []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch f := frame.(type) {
	case *kibitz.Roster:
		n.members = f.Members
	case *kibitz.Caps, *kibitz.Kick:
	case *kibitz.From:
		if n.links || !n.content(f) {
			return
		}
	default:
		return
	}
	n.note()
}

func (n *notes) content(f *kibitz.From) bool {
	var c struct {
		K    kibitz.ContentKind `json:"k"`
		Text string             `json:"text"`
		Data json.RawMessage    `json:"data"`
		Name string             `json:"name"`
	}
	if json.Unmarshal(f.C, &c) != nil {
		return false
	}
	switch c.K {
	case kibitz.ContentChat:
		n.say(f, c.Text)
	case kibitz.ContentSchema:
		of := maps.Clone(n.schemas[f.From]) // what the model was shown is not changed
		if of == nil {
			of = map[string]json.RawMessage{}
		}
		of[c.Name] = json.RawMessage(f.C)
		n.schemas[f.From] = of
	case kibitz.ContentApp:
		return n.app(f, c.Data)
	}
	return true
}

// hear is told content where links may carry it.
func (n *notes) hear(c roomagent.Content) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.content(&kibitz.From{Seq: c.Seq, From: c.From, To: c.To, C: kibitz.Raw(c.C), Retained: c.Retained}) {
		n.note()
	}
}

func (n *notes) app(f *kibitz.From, data json.RawMessage) bool {
	kind, inside := kibitz.OpenEnvelope(kibitz.Raw(data))
	switch kind {
	case kibitz.EnvelopeChat:
		var text string
		if json.Unmarshal(inside, &text) != nil {
			return false
		}
		n.say(f, text)
	case kibitz.EnvelopeView:
		n.view, n.viewSeq, n.viewFrom = json.RawMessage(inside), f.Seq, f.From
	case kibitz.EnvelopeNone:
		if f.Retained {
			return false
		}
		n.data = cut(n, append(n.data, datum{f.Seq, f.From, data}))
	default:
		return false
	}
	return true
}

func (n *notes) say(f *kibitz.From, text string) {
	l := line{Seq: f.Seq, From: f.From, Text: text, To: f.To, Kind: kibitz.Human}
	if at := slices.IndexFunc(n.members, func(m kibitz.Member) bool { return m.ID == f.From }); at >= 0 {
		l.Name, l.Kind = n.members[at].Name, n.members[at].Kind
	}
	n.lines = cut(n, append(n.lines, l))
}

// cut drops the oldest of too long a queue.
func cut[T any](n *notes, list []T) []T {
	if over := len(list) - maxWaiting; over > 0 {
		n.dropped += over
		list = slices.Delete(list, 0, over)
	}
	return list
}

// news tells whether there is any, and what is closed when there is more.
func (n *notes) news() (bool, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fresh, n.changed
}

// unseen is what the model has not seen, at most so many lines.
func (n *notes) unseen(most int) map[string]any {
	n.mu.Lock()
	defer n.mu.Unlock()
	chat, data := n.lines[:min(len(n.lines), most)], n.data[:min(len(n.data), most)]
	out := map[string]any{
		"view": n.view, "viewSeq": nil, "viewFrom": nil, "chat": append([]line{}, chat...), "data": append([]datum{}, data...),
		"schemas": maps.Clone(n.schemas), "dropped": n.dropped,
	}
	if n.view != nil {
		out["viewSeq"], out["viewFrom"] = n.viewSeq, n.viewFrom
	}
	n.lines, n.data, n.dropped = n.lines[len(chat):], n.data[len(data):], 0
	n.fresh = len(n.lines)+len(n.data) > 0
	return out
}

// left tells whether lines wait that nobody has seen.
func (n *notes) left() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.lines)+len(n.data) > 0
}
