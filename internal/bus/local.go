package bus

import (
	"context"
	"sync"
)

// Local is the in-process bus: the default, with nothing to run.
//
// Each Local is one connection to an exchange; Peer opens another, as a second hub in
// the same process would (tests use this). Closing one leaves the others alone.
type Local struct {
	ex      *exchange
	limits  Limits
	running sync.WaitGroup
	done    chan struct{}

	mu     sync.Mutex
	closed bool
	subs   map[*localSub]struct{}
}

var _ Bus = (*Local)(nil)

// NewLocal returns a bus on an exchange of its own, with the default limits.
func NewLocal() *Local { return NewLocalLimits(Limits{}) }

// NewLocalLimits is NewLocal with other bounds for the queue of each subscription.
func NewLocalLimits(limits Limits) *Local { return newLocal(newExchange(), limits.withDefaults()) }

func newLocal(ex *exchange, limits Limits) *Local {
	return &Local{ex: ex, limits: limits, done: make(chan struct{}), subs: make(map[*localSub]struct{})}
}

// Peer opens another connection to the same exchange.
func (l *Local) Peer() *Local { return newLocal(l.ex, l.limits) }

// Publish implements Bus.
func (l *Local) Publish(subject string, data []byte) error {
	_, err := l.send(Msg{Subject: subject, Data: data})
	return err
}

func (l *Local) send(m Msg) (receivers int, err error) {
	if err := checkSubject(m.Subject, false); err != nil {
		return 0, err
	}
	if err := checkSize(m.Data, l.MaxPayload()); err != nil {
		return 0, err
	}
	if err := l.Healthy(); err != nil {
		return 0, err
	}
	return l.ex.deliver(m), nil
}

// Subscribe implements Bus.
func (l *Local) Subscribe(subject string, fn func(Msg)) (Subscription, error) {
	return l.subscribe(subject, "", fn)
}

// QueueSubscribe implements Bus.
func (l *Local) QueueSubscribe(subject, queue string, fn func(Msg)) (Subscription, error) {
	if err := checkQueue(queue); err != nil {
		return nil, err
	}
	return l.subscribe(subject, queue, fn)
}

func (l *Local) subscribe(subject, queue string, fn func(Msg)) (Subscription, error) {
	if err := checkSubject(subject, true); err != nil {
		return nil, err
	}
	s := &localSub{bus: l, subject: subject, queue: queue, mailbox: newMailbox(fn, l.limits, &l.running)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	l.subs[s] = struct{}{}
	l.ex.add(s)
	return s, nil
}

// Request implements Bus.
func (l *Local) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer := make(chan []byte, 1)
	respond := func(data []byte) error {
		if err := checkSize(data, l.MaxPayload()); err != nil {
			return err
		}
		select {
		case answer <- data:
		default: // someone else was first
		}
		return nil
	}
	n, err := l.send(Msg{Subject: subject, Data: data, Respond: respond})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, ErrNoResponders
	}
	select {
	case data := <-answer:
		return data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.done:
		return nil, ErrClosed
	}
}

// MaxPayload implements Bus.
func (l *Local) MaxPayload() int { return DefaultMaxPayload }

// Healthy implements Bus.
func (l *Local) Healthy() error {
	select {
	case <-l.done:
		return ErrClosed
	default:
		return nil
	}
}

// Close implements Bus.
func (l *Local) Close() error {
	l.mu.Lock()
	subs := l.subs
	if !l.closed {
		l.closed = true
		l.subs = nil
		close(l.done)
		for s := range subs {
			l.ex.remove(s)
			s.mailbox.close()
		}
	}
	l.mu.Unlock()
	l.running.Wait()
	return nil
}

// localSub is one subscription on a Local.
type localSub struct {
	*mailbox
	bus            *Local
	subject, queue string
}

// Close implements Subscription.
func (s *localSub) Close() {
	s.bus.mu.Lock()
	delete(s.bus.subs, s)
	s.bus.mu.Unlock()
	s.bus.ex.remove(s)
	s.mailbox.close()
}

// Lagged implements Subscription.
func (s *localSub) Lagged() <-chan struct{} { return s.lagged }
