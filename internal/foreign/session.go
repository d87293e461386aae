package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/mask"
	"parley.internal/protocol/acp"
)

// Bounds of a session.
const (
	// startTime is how long a program may take until its session is there: some fetch things first.
	startTime = 2 * time.Minute
	// cancelTime is how long an agent may go on with a prompt that was cancelled.
	cancelTime = 10 * time.Second
	// maxOpen is how many requests of an agent may wait for their answers.
	maxOpen = 64
	// maxDeeds is how many bytes of deeds one prompt may tell.
	maxDeeds = 64 << 20
)

// errLeft says that nobody listens to the stream any more.
var errLeft = errors.New("nobody listens")

// session is one task's session with a foreign agent.
type session struct {
	*program
	h brain.Hosting

	// lock guards run, which Close ends from beside a stream.
	lock   sync.Mutex
	run    *running
	closed bool
	beside sync.WaitGroup // what is done to terminals
	waits  atomic.Int32   // how much of it
	heard  atomic.Bool    // the agent has read what a terminal printed

	// mu is held by a stream; all below is its.
	mu       sync.Mutex
	saved    saved
	live     bool   // the program knows the session
	fresh    bool   // a person agreed to begin anew
	start    string // the call that asks whether the program may be started outside a box
	restart  string // the call that asks whether to begin anew
	outside  bool   // a person agreed to start it outside a box
	seen     int    // messages of the history that were looked at
	users    []string
	prompt   string              // the request that is being answered
	open     map[string]*request // what the agent waits for, by call
	calls    []model.Call        // what is to be asked of the task next
	deeds    map[string]*deed
	told     int // bytes of deeds
	text     *mask.Stream
	usage    acp.Usage // of the session up to the last answer
	cost     int64     // of the session up to now, in micros
	costSeen bool
}

// saved is what of a session outlives its program.
type saved struct {
	ID   string `json:"id"`
	Told int    `json:"told"` // how many of the person's messages it had
	Paid int64  `json:"paid"` // what of its cost the task knows, in micros
}

func newSession(p *program, h brain.Hosting) *session {
	s := &session{program: p, h: h, open: map[string]*request{}, deeds: map[string]*deed{}, text: p.o.Mask.Stream()}
	_ = json.Unmarshal([]byte(h.State), &s.saved) // ours, or empty
	return s
}

// Stream says what is new in the history to the agent, and gives what it answers.
func (s *session) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		out := func(ev model.Event) error {
			if !yield(ev, nil) {
				return errLeft
			}
			return nil
		}
		err := s.turn(ctx, req, out)
		switch {
		case err == nil:
		case errors.Is(err, errLeft), ctx.Err() != nil:
			s.cancel()
		default:
			s.drop()
			yield(model.Event{}, s.failed(err.Error()))
		}
	}
}

// listener takes the events of a stream.
type listener func(model.Event) error

// turn is one stream: new words are a prompt, results are answers, and then the agent speaks.
func (s *session) turn(ctx context.Context, req model.Request, out listener) error {
	spoken := s.takeIn(req.Messages)
	ready, err := s.connect(ctx, out)
	if err != nil || !ready {
		return err
	}
	if spoken && s.prompt != "" {
		s.stopPrompt(ctx)
		if ready, err = s.connect(ctx, out); err != nil || !ready {
			return err
		}
	}
	if s.prompt == "" {
		if err := s.speak(ctx, req.System); err != nil {
			return err
		}
	}
	return s.listen(ctx, out)
}

// takeIn looks at what the history has new: results answer requests, words of the person wait to be said.
func (s *session) takeIn(history []model.Message) (spoken bool) {
	for ; s.seen < len(history); s.seen++ {
		switch m := &history[s.seen]; m.Role {
		case model.Tool:
			s.resolve(m)
		case model.User:
			s.users = append(s.users, m.Words())
			spoken = true
		}
	}
	return spoken
}

// resolve gives the agent, or the session itself, the result of a call.
func (s *session) resolve(m *model.Message) {
	switch m.CallID {
	case "":
	case s.start:
		if s.start, s.outside = "", !m.IsError; m.IsError {
			s.start = refused
		}
	case s.restart:
		s.restart, s.fresh = "", !m.IsError && strings.Contains(m.Text, beginAnew)
		if !s.fresh {
			s.restart = refused
		}
	default:
		if r := s.open[m.CallID]; r != nil {
			delete(s.open, m.CallID)
			s.settle(r, m)
		}
	}
}

// speak sends the words that the agent has not had.
func (s *session) speak(ctx context.Context, system string) error {
	var words []string
	if s.saved.Told == 0 && system != "" {
		words = append(words, system)
	}
	if s.saved.Told < len(s.users) {
		words = append(words, s.users[s.saved.Told:]...)
	} else if len(s.users) > 0 {
		words = append(words, "Your program was restarted while you were working. Look what you have done already, do not do it twice, and go on. "+
			"The last thing you were told:\n\n"+s.users[len(s.users)-1])
	}
	s.saved.Told = len(s.users)
	if err := s.save(ctx); err != nil {
		return err
	}
	p := acp.PromptRequest{Session: s.saved.ID}
	for _, text := range words {
		p.Prompt = append(p.Prompt, acp.Block{Type: "text", Text: text})
	}
	clear(s.deeds)
	s.told = 0
	id, err := s.run.request(acp.Prompt, p)
	s.prompt = id
	return err
}

func (s *session) save(ctx context.Context) error {
	raw, err := json.Marshal(s.saved)
	if err != nil {
		return err
	}
	return s.h.Save(ctx, string(raw))
}

// listen gives what the agent says until it asks for something or has ended its answer.
func (s *session) listen(ctx context.Context, out listener) error {
	for {
		if len(s.calls) > 0 && len(s.run.incoming) == 0 {
			return s.ask(out)
		}
		m, err := s.next(ctx)
		if err != nil {
			return err
		}
		ended, err := s.handle(m, out)
		if err != nil || ended {
			return err
		}
	}
}

// next waits for a message.
func (s *session) next(ctx context.Context) (acp.Message, error) {
	select {
	case <-ctx.Done():
		return acp.Message{}, context.Cause(ctx)
	case m, ok := <-s.run.incoming:
		if !ok {
			return m, errors.New(s.run.why())
		}
		return m, nil
	}
}

// ask ends the stream with calls for the task.
func (s *session) ask(out listener) error {
	if err := s.flushText(out); err != nil {
		return err
	}
	for i, c := range s.calls {
		if err := out(model.Event{Kind: model.CallDelta, Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments}); err != nil {
			return err
		}
	}
	s.calls = nil
	return out(model.Event{Kind: model.Done, Finish: model.FinishCalls, Usage: s.spent()})
}

// handle does what a message says; ended tells that the stream is over.
func (s *session) handle(m acp.Message, out listener) (ended bool, err error) {
	switch {
	case m.Request():
		return false, s.serve(m)
	case m.Answer():
		if string(m.ID) != s.prompt || s.prompt == "" {
			return false, nil
		}
		return true, s.answered(m, out)
	case m.Method == acp.Update:
		u, err := acp.Read[acp.SessionUpdate](m.Params)
		if err != nil || u.Session != s.saved.ID {
			return false, nil //nolint:nilerr // what cannot be read, or is about another session, is nothing
		}
		return s.update(&u.Update, out)
	}
	return false, nil
}

// answered ends the answer to a prompt.
func (s *session) answered(m acp.Message, out listener) error {
	s.prompt = ""
	if m.Error != nil {
		return m.Error
	}
	res, err := acp.Read[acp.PromptResponse](m.Result)
	if err != nil {
		return err
	}
	if err := s.flushText(out); err != nil {
		return err
	}
	done := model.Event{Kind: model.Done, Finish: model.FinishStop}
	switch res.Reason {
	case acp.MaxTokens:
		done.Finish = model.FinishLength
	case acp.Refusal:
		done.Finish = model.FinishFilter
	}
	done.Usage = s.spent()
	if u := res.Usage; u != nil {
		done.Usage.Prompt, done.Usage.Completion = max(u.Input-s.usage.Input, 0), max(u.Output-s.usage.Output, 0)
		s.usage = *u
	}
	return out(done)
}

// spent is the cost that the task does not know of yet.
func (s *session) spent() model.Usage {
	u := model.Usage{CostMicros: max(s.cost-s.saved.Paid, 0), CostKnown: s.costSeen}
	s.saved.Paid = max(s.cost, s.saved.Paid)
	return u
}

// Close ends the program.
func (s *session) Close() {
	s.lock.Lock()
	s.closed = true
	r := s.run
	s.lock.Unlock()
	if r != nil {
		r.end()
	}
	s.beside.Wait()
}
