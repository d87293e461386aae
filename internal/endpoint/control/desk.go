package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	wire "parley.internal/protocol/kenny"
)

// Question is a call that waits for the person at the machine.
type Question struct {
	// N is the question's number, for people to name it by.
	N    int    `json:"n"`
	Tool string `json:"tool"`
	// Arguments are exactly what will run; only who may say yes sees them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Until     time.Time       `json:"until"`
}

// verdict is a person's answer; open is a question without one.
type verdict struct {
	yes bool
	by  string
}

type open struct {
	Question
	answer chan verdict
	ended  bool
}

// maxOpen bounds the questions at once: a hub has no more calls under way.
const maxOpen = wire.MaxInFlight

// Refusals of answers.
var (
	// ErrNoQuestion: answered, withdrawn, run out, or never asked.
	ErrNoQuestion = errors.New("no such question waits")
	// ErrNotAsked: somebody else wants to be asked.
	ErrNotAsked = errors.New("only the one who wants to be asked, or an administrator, can say yes")
)

// Asks reports whether the person is asked before a tool of a class runs.
func (s *Switch) Asks(class wire.Class) bool {
	return class == wire.Mutating && s.State().Mode == Asking
}

// Consent asks the person at the machine and waits for the answer. Nil means yes;
// the error is what the hub hears.
func (s *Switch) Consent(ctx context.Context, id, tool string, args []byte) error {
	q, err := s.put(tool, args)
	if err != nil {
		return err
	}
	defer s.drop(q)
	s.log.Info("the person at the machine is asked", "tool", tool, "call", id, "question", q.N)
	if s.OnAsk != nil {
		s.OnAsk()
	}
	timer := time.NewTimer(wire.AskTime)
	defer timer.Stop()
	select {
	case v := <-q.answer:
		s.log.Info("the person at the machine answered", "tool", tool, "call", id, "approved", v.yes, "user", v.by)
		if v.yes {
			return nil
		}
		return refusal("the person at the machine said no; nothing ran")
	case <-timer.C:
		return refusal(fmt.Sprintf("nobody at the machine answered within %s; nothing ran", wire.AskTime))
	case <-ctx.Done():
		return refusal("the question to the person at the machine was withdrawn; nothing ran")
	}
}

func refusal(says string) error { return &wire.Error{Code: wire.CodeDisabled, Message: says} }

func (s *Switch) put(tool string, args []byte) (*open, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) >= maxOpen {
		return nil, refusal(fmt.Sprintf("%d calls wait for the person at the machine already", maxOpen))
	}
	s.last++
	q := &open{Question: Question{N: s.last, Tool: tool, Arguments: args, Until: s.now().Add(wire.AskTime).UTC()}, answer: make(chan verdict, 1)}
	s.asked = append(s.asked, q)
	return q, nil
}

// drop takes a question off the desk; a later answer finds nothing.
func (s *Switch) drop(q *open) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = slices.DeleteFunc(s.asked, func(o *open) bool { return o == q })
}

// Withdraw ends every question with a no: whoever asked is gone, and a yes would
// run something nobody waits for.
func (s *Switch) Withdraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asked {
		q.end(verdict{by: "the hub's connection ended"})
	}
}

// end decides a question once; the lock is held.
func (q *open) end(v verdict) bool {
	if q.ended {
		return false
	}
	q.ended = true
	q.answer <- v
	return true
}

// Waiting lists the questions, oldest first, with their arguments for whoever may
// say yes.
func (s *Switch) Waiting(who Caller) []Question {
	full := s.mayConsent(who) == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Question, 0, len(s.asked))
	for _, q := range s.asked {
		shown := q.Question
		if !full {
			shown.Arguments = nil
		}
		if !q.ended {
			list = append(list, shown)
		}
	}
	return list
}

// Answer decides a question. Everybody on the machine may say no; yes is for the
// one who wants to be asked, and for administrators.
func (s *Switch) Answer(n int, yes bool, who Caller) error {
	if who.Script {
		return ErrScript
	}
	if err := s.mayConsent(who); yes && err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asked {
		if q.N == n && q.end(verdict{yes: yes, by: who.Name}) {
			return nil
		}
	}
	return ErrNoQuestion
}

func (s *Switch) mayConsent(who Caller) error {
	if st := s.State(); who.Script || !who.Admin && (st.Broken || st.By == "" || st.By != who.ID) {
		return ErrNotAsked
	}
	return nil
}
