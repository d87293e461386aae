package approval

import (
	"context"
	"sync"
)

// Pending is a question somebody waits for.
type Pending struct {
	in   *Inbox
	item Item
	once sync.Once
	done chan struct{}
	out  Outcome

	mu   sync.Mutex // guards tell
	tell []func(Outcome)
}

// ID is the question's id.
func (p *Pending) ID() string { return p.item.ID }

// Item is the question as it was asked; its arguments are what may run.
func (p *Pending) Item() Item { return p.item }

// Done is closed once it is decided.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait returns the decision. When ctx ends first the question stays in the
// inbox; Cancel takes it out. It may be called again and by several at once.
func (p *Pending) Wait(ctx context.Context) (Outcome, error) {
	select {
	case <-p.done:
		return p.out, nil
	default:
	}
	select {
	case <-p.done:
		return p.out, nil
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	case <-p.in.gone:
		return Outcome{}, ErrClosed
	}
}

// decide is told the decision, perhaps more than once.
func (p *Pending) decide(o Outcome) {
	p.once.Do(func() {
		p.mu.Lock()
		p.out = o
		close(p.done)
		tell := p.tell
		p.mu.Unlock()
		for _, fn := range tell {
			fn(o)
		}
	})
}

// Tell calls fn with the decision, once there is one. Until then it costs nothing. fn
// must not wait for anything.
func (p *Pending) Tell(fn func(Outcome)) {
	p.mu.Lock()
	select {
	case <-p.done:
		p.mu.Unlock()
		fn(p.out)
	default:
		p.tell = append(p.tell, fn)
		p.mu.Unlock()
	}
}

// register lets the follower tell p what becomes of the question. It comes
// before the read or write that p rests on, so that no decision falls between.
func (in *Inbox) register(id string) *Pending {
	p := &Pending{in: in, done: make(chan struct{})}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting[id] == nil {
		in.waiting[id] = map[*Pending]struct{}{}
	}
	in.waiting[id][p] = struct{}{}
	return p
}

func (in *Inbox) unregister(id string, p *Pending) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.waiting[id], p)
	if len(in.waiting[id]) == 0 {
		delete(in.waiting, id)
	}
}

// decided ends every wait for the item.
func (in *Inbox) decided(item Item) {
	in.mu.Lock()
	waiters := in.waiting[item.ID]
	delete(in.waiting, item.ID)
	in.mu.Unlock()
	for p := range waiters {
		p.decide(item.Outcome)
	}
}
