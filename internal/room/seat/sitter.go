package seat

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/protocol/kibitz"
)

// sitter is an agent of the hub on a chair.
type sitter struct {
	*chair
	mind  Mind
	agent string
	tools []string
	by    string // who seated it
	// maker is the same, as they stand now; an error says that they may not any more.
	maker  func(context.Context) (identity.Actor, error)
	shown  Disclosure
	manner *manners
	// undisclosed is told that the model is another one now.
	undisclosed func()

	life   context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	// at is what it thinks about; round tells an abandoned thought from this one.
	at      job
	busy    bool
	sending bool
	round   int
	giveUp  context.CancelFunc
	// forms are the schemas, by publisher and name.
	forms map[string]map[string]json.RawMessage
}

// Bounds of what a model is told beside the view: strangers may have written it.
const (
	maxPresent = 50
	maxForms   = 10
	maxForm    = 8 << 10
)

// present is who is there.
func (s *sitter) present() []Present {
	var out []Present
	for _, m := range s.members[:min(len(s.members), maxPresent)] {
		out = append(out, Present{Name: m.Name, Agent: m.Kind == kibitz.Agent})
	}
	return out
}

// described keeps what a publisher says about its view.
func (s *sitter) described(from, name string, schema kibitz.Raw) {
	known := s.forms[from]
	if _, again := known[name]; len(schema) > maxForm || !again && s.countForms() >= maxForms {
		return
	}
	if known == nil {
		known = map[string]json.RawMessage{}
		s.forms[from] = known
	}
	known[name] = json.RawMessage(schema)
}

func (s *sitter) countForms() (n int) {
	for _, of := range s.forms {
		n += len(of)
	}
	return n
}

// schemas are those of who is here, by name.
func (s *sitter) schemas() map[string]map[string]json.RawMessage {
	out := map[string]map[string]json.RawMessage{}
	for id, of := range s.forms {
		if m, known := s.member(id); known {
			out[m.Name] = maps.Clone(of)
		}
	}
	return out
}

func newSitter(c *chair, mind Mind, agent string, tools []string, shown Disclosure) *sitter {
	s := &sitter{chair: c, mind: mind, agent: agent, tools: tools, shown: shown, manner: newManners(agent), forms: map[string]map[string]json.RawMessage{}, undisclosed: func() {}}
	s.life, s.cancel = context.WithCancel(context.Background())
	c.guest = s
	return s
}

// meta says read-only as long as it may do nothing else.
func (s *sitter) meta() map[string]any {
	return map[string]any{"role": "agent", "readOnly": !s.may(kibitz.SendChat)}
}

func (s *sitter) stop() {
	s.cancel()
	s.quiet()
}

func (s *sitter) quiet() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (s *sitter) frame(frame kibitz.Frame) {
	switch f := frame.(type) {
	case *kibitz.Self, *kibitz.Caps:
		s.regrant()
	case *kibitz.From:
		s.content(f)
	case *kibitz.Reset:
		s.manner.heard, s.manner.followed = nil, false
	}
}

// regrant notices when it may speak, or may not any more.
func (s *sitter) regrant() {
	may := s.may(kibitz.SendChat)
	if may == s.manner.may {
		return
	}
	s.manner.allow(may)
	s.write(s.voice())
	if !may {
		s.abandon()
	}
}

// abandon stops thinking at once.
func (s *sitter) abandon() {
	if s.busy && !s.sending {
		s.giveUp()
		s.busy = false
		s.round++
	}
}

func (s *sitter) content(f *kibitz.From) {
	var c struct {
		K      kibitz.ContentKind `json:"k"`
		Text   string             `json:"text"`
		Data   kibitz.Raw         `json:"data"`
		Name   string             `json:"name"`
		Schema kibitz.Raw         `json:"schema"`
	}
	if json.Unmarshal(f.C, &c) != nil {
		return
	}
	switch c.K {
	case kibitz.ContentChat:
		s.said(f.From, c.Text)
	case kibitz.ContentSchema:
		s.described(f.From, c.Name, c.Schema)
	case kibitz.ContentApp:
		switch kind, inside := kibitz.OpenEnvelope(c.Data); kind {
		case kibitz.EnvelopeChat:
			var text string
			if json.Unmarshal(inside, &text) == nil {
				s.said(f.From, text)
			}
		case kibitz.EnvelopeView:
			s.manner.see(json.RawMessage(inside), !f.Retained && s.live)
			s.step()
		}
	}
}

// said hears a person. Agents are not listened to, so that two of them never
// talk each other into the ground.
func (s *sitter) said(from, text string) {
	m, known := s.member(from)
	if !known || m.Kind != kibitz.Human || !s.live { // what it missed while away is not answered late
		return
	}
	if s.manner.hear(Line{Name: m.Name, Text: text}) && s.busy && !s.sending && s.at.reply == nil {
		// A reply goes before a comment, also before one it is thinking about.
		s.manner.giveBack(s.at)
		s.abandon()
	}
	s.step()
}

// step thinks about the next thing, now or when it is time.
func (s *sitter) step() {
	if s.busy {
		return
	}
	s.quiet()
	j, wait := s.manner.next(time.Now())
	switch {
	case j.some():
		s.think(j)
	case wait > 0:
		s.timer = time.AfterFunc(wait, func() { s.post(s.step) })
	}
}

func (s *sitter) think(j job) {
	s.round++
	s.at, s.busy = j, true
	ctx, cancel := context.WithCancel(s.life)
	s.giveUp = cancel
	round := s.round
	t := Thought{
		Agent: s.agent, Disclosed: s.shown, Tools: s.tools, By: s.by, Room: s.room, Reply: j.reply,
		People: s.present(), Schemas: s.schemas(), View: s.manner.newest, Chat: append([]Line{}, s.manner.heard...),
	}
	s.tasks.Go(func() {
		defer cancel()
		text, err := s.mindful(ctx, t)
		s.post(func() { s.thought(round, text, err) })
	})
}

// mindful thinks for whoever seated the agent, as they stand now.
func (s *sitter) mindful(ctx context.Context, t Thought) (_ string, err error) {
	if t.Maker, err = s.maker(ctx); err != nil {
		return "", err
	}
	return s.mind.Think(ctx, t)
}

// thought says what came of it. A model that failed leaves the agent silent.
func (s *sitter) thought(round int, text string, err error) {
	if round != s.round || !s.busy {
		return
	}
	switch {
	case errors.Is(err, ErrUndisclosed):
		s.undisclosed()
	case errors.Is(err, errMaker):
		s.fail(err)
		return
	}
	if err != nil {
		text = ""
	}
	if text = s.manner.words(text, s.at); text == "" {
		s.busy = false
		s.step()
		return
	}
	s.say(text)
}

func (s *sitter) say(text string) {
	s.sending = true
	done := func(no *kibitz.Nak) {
		if no != nil {
			s.manner.denied(text)
		} else {
			s.manner.said(text, time.Now())
		}
		s.busy, s.sending = false, false
		s.step()
	}
	s.send(map[string]any{"k": kibitz.ContentApp, "data": map[string]string{"__kib_agent": string(kibitz.EnvelopeChat), "text": text}}, "", done)
}
