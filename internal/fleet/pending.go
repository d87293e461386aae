package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/owner"
	"parley.internal/protocol/kenny"
)

// call writes one request to this connection and waits for its answer. sent is
// true once the frame was handed to the connection: from then on it may have run.
func (s *Session) call(ctx context.Context, id, tool string, args jsontext.Value, timeout time.Duration) (result jsontext.Value, sent bool, err error) {
	frame, encodeErr := kenny.Encode(&kenny.Request{ID: id, Tool: tool, Args: args})
	if encodeErr != nil {
		if errors.Is(encodeErr, kenny.ErrTooLarge) {
			return nil, false, fault.Errorf(fault.TooLarge, "the call has more than %d bytes", kenny.MaxRequest)
		}
		return nil, false, fault.Errorf(fault.BadArgs, "%w", encodeErr)
	}
	answer, refusal := s.register(id)
	if refusal != nil {
		return nil, false, refusal
	}
	defer s.forget(id)
	if err := s.link.Send(frame); err != nil {
		if errors.Is(err, ErrLinkFull) {
			return nil, false, fault.Errorf(fault.Busy, "the machine does not keep up: too many frames wait for it")
		}
		return nil, false, owner.ErrGone
	}
	timer := time.NewTimer(timeout + kenny.AnswerGrace)
	defer timer.Stop()
	select {
	case out := <-answer:
		if out.err != nil {
			return nil, true, out.err
		}
		return out.result, true, nil
	case <-timer.C:
		return nil, true, fault.Errorf(fault.Timeout, "the machine gave no answer within %s", timeout)
	case <-ctx.Done():
		return nil, true, fault.Errorf(fault.Cancelled, "the caller gave up; the machine may still be at it")
	}
}

// register makes room for an answer.
func (s *Session) register(id string) (chan outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, owner.ErrGone
	}
	if len(s.pending) >= s.f.d.Limits.InFlight {
		return nil, fault.Errorf(fault.Busy, "%d calls are under way on this machine already", len(s.pending))
	}
	answer := make(chan outcome, 1)
	s.pending[id] = answer
	return answer, nil
}

// waits tells whether the machine has to answer something yet.
func (s *Session) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0
}

func (s *Session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
}

// answered settles the call a response belongs to, if it was made on this very
// connection; others, and late ones, are dropped.
func (s *Session) answered(r *kenny.Response) {
	result, failure := r.Outcome()
	out := outcome{result: s.f.d.Mask.JSON(result)}
	if failure != nil {
		out = outcome{err: &fault.Error{Code: failure.Code, Message: s.f.d.Mask.Text(fit.Storable(failure.Message)), FromMachine: true}}
	}
	if !s.deliver(r.ID, out) {
		s.f.stats.drop("late_response")
	}
}

// deliver hands an answer to whoever waits; false if nobody does.
func (s *Session) deliver(id string, out outcome) bool {
	s.mu.Lock()
	answer, ok := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if ok {
		answer <- out
	}
	return ok
}
