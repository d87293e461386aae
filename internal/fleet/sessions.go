package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/protocol/kenny"
)

// sessions are the connections that machines have here, and the way to those they have
// on other hubs.
type sessions = owner.Things[*Session, question, reply]

// question is what a machine's connection is asked: a call. The hub that asks has asked
// for scopes and approvals and has written the trail. Yield is asked of a hub: to let go
// of a machine that has connected to another.
type question struct {
	ID      string         `json:"id,omitzero"`
	Tool    string         `json:"tool,omitzero"`
	Args    jsontext.Value `json:"args,omitzero"`
	Timeout time.Duration  `json:"timeout,omitzero"`
	Yield   string         `json:"yield,omitzero"`
}

// reply is what came of it. Sent: the machine may have got the call.
type reply struct {
	Sent    bool           `json:"sent,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Failure *fault.Error   `json:"failure,omitzero"`
}

func (f *Fleet) newSessions() *sessions {
	return owner.New(owner.Deps{Bus: f.d.Bus, Leases: f.d.Leases, Clustered: !f.d.Alone, Log: f.d.Log}, owner.Kind[*Session, question, reply]{
		Name: "machine", Do: askSession,
		Unowned: func(context.Context, string) error {
			return fault.Errorf(fault.Offline, "the machine is not connected")
		},
		Holds: func(s *Session) *lease.Lease { return s.lease },
		DoHub: func(_ context.Context, q question) (reply, error) {
			f.yield(q.Yield)
			return reply{}, nil
		},
		Errors: []owner.Named{owner.ErrorType[*fault.Error]("fleet")},
	})
}

// askSession runs a call on a connection of this hub.
func askSession(ctx context.Context, s *Session, q question) (reply, error) {
	if !s.current() {
		return reply{}, owner.ErrGone
	}
	result, sent, err := s.call(ctx, q.ID, q.Tool, q.Args, q.Timeout)
	failure, _ := errors.AsType[*fault.Error](err)
	if err != nil && failure == nil {
		return reply{}, err
	}
	return reply{Sent: sent, Result: result, Failure: failure}, nil
}

var errLate = errors.New("late")

// transmit brings a call to its machine, wherever it is connected. sent tells
// whether the machine may have got it.
func (f *Fleet) transmit(ctx context.Context, p *prepared) (result jsontext.Value, sent bool, err error) {
	waiting, done := context.WithTimeoutCause(ctx, p.patience()+2*kenny.AnswerGrace, errLate)
	defer done()
	r, err := f.sessions.Ask(waiting, p.machine, question{ID: p.id, Tool: p.tool.Name, Args: p.wire, Timeout: p.patience()})
	switch {
	case err != nil:
		sent, err = unanswered(ctx, err)
	case r.Failure != nil:
		err = r.Failure
	}
	sent = sent || r.Sent
	f.learn(p, err)
	return r.Result, sent, err
}

// unanswered is what it means that no connection answered a call.
func unanswered(ctx context.Context, err error) (sent bool, failure error) {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return false, e
	}
	switch {
	case errors.Is(err, owner.ErrMoving), errors.Is(err, owner.ErrClosed):
		return false, fault.Errorf(fault.Offline, "the machine is not connected")
	case errors.Is(err, owner.ErrSilent):
		return true, fault.Errorf(fault.Offline, "machine disconnected during the call")
	case errors.Is(err, owner.ErrTooLarge):
		return true, fault.Errorf(fault.TooLarge, "the call or its answer does not fit between hubs")
	case errors.Is(err, errLate):
		return true, fault.Errorf(fault.Timeout, "the machine gave no answer in time")
	case ctx.Err() != nil:
		return true, fault.Errorf(fault.Cancelled, "the caller gave up; the machine may still be at it")
	}
	return true, fault.Errorf(fault.Offline, "the hub that has the machine cannot be reached: %w", err)
}

// yield gives a machine up that has connected to another hub.
func (f *Fleet) yield(id string) {
	m := f.find(id)
	if m == nil {
		return
	}
	m.admit.Lock()
	defer m.admit.Unlock()
	m.mu.Lock()
	s := m.session
	m.session = nil
	if s != nil {
		m.rec.lastSeen = s.Heard()
	}
	m.mu.Unlock()
	if s == nil {
		return
	}
	s.replaced()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	if s.lease != nil {
		f.report("a machine is not let go of", s.lease.Release(ctx))
	}
}

// yieldTime is how long another hub may take to let go of a machine.
const yieldTime = 5 * time.Second

// askToYield has another hub let go of a machine that connected here.
func (f *Fleet) askToYield(ctx context.Context, hub, id string) {
	ctx, cancel := context.WithTimeout(ctx, yieldTime)
	defer cancel()
	if _, err := f.sessions.AskHub(ctx, hub, question{Yield: id}); err != nil {
		f.d.Log.Debug("the hub that had a machine does not answer", "machine", id, "hub", hub, "error", err)
	}
}
