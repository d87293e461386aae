package owner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/bus"
)

// post carries questions of one kind between hubs. It knows nothing of things.
type post struct {
	d     Deps
	kind  string
	hub   string
	names names
	// answer is what other hubs get; it may wait.
	answer func(ctx context.Context, h head, body []byte) ([]byte, error)

	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup
	watch *watch
	kept  kept
	count atomic.Int64
	sub   bus.Subscription

	mu      sync.Mutex
	running map[string]context.CancelFunc // questions of other hubs
	closed  bool
}

func newPost(d Deps, kind string, errs []Named) *post {
	p := &post{d: d, kind: kind, hub: d.Leases.ID(), names: newNames(errs), running: map[string]context.CancelFunc{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.watch = &watch{living: d.Leases.Living, run: p.spawn, quit: p.ctx.Done(), waits: map[*wait]struct{}{}}
	return p
}

// subject is where a life of a hub hears of this kind.
func (p *post) subject(hub string) string { return "owner." + p.kind + "." + bus.Token(hub) }

func (p *post) listen() (err error) {
	if p.d.Clustered {
		p.sub, err = p.d.Bus.QueueSubscribe(p.subject(p.hub), "hub", p.heard)
	}
	return err
}

func (p *post) close() {
	p.mu.Lock()
	already := p.closed
	p.closed = true
	p.mu.Unlock()
	if already {
		return
	}
	if p.sub != nil {
		p.sub.Close()
	}
	p.stop()
	p.work.Wait()
}

// spawn runs what may wait beside the caller, until close; false: it is too late.
func (p *post) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Go(f)
	}
	return !p.closed
}

// request asks another hub. errMoved says that nobody there has begun to answer.
func (p *post) request(ctx context.Context, to string, h head, body []byte) ([]byte, error) {
	h.From = p.hub
	if h.Ask == "" {
		h.Ask = strconv.FormatInt(p.count.Add(1), 36)
	}
	if until, ok := ctx.Deadline(); ok {
		h.Wait = max(time.Until(until).Microseconds(), 1)
	}
	msg, large, err := p.offer(h, h.key(), body)
	if err != nil {
		return nil, err
	}
	if large {
		defer p.kept.drop(h.key())
	}
	waiting, done := p.watch.during(ctx, to)
	defer done()
	raw, err := p.d.Bus.Request(waiting, p.subject(to), msg)
	if err != nil {
		return nil, p.unanswered(ctx, waiting, to, h, err)
	}
	got, data, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if data, err = p.whole(waiting, to, h.key(), got, data); err != nil {
		return nil, p.unanswered(ctx, waiting, to, h, fmt.Errorf("%w: %w", ErrSilent, err)) // it was done: it is not asked again
	}
	if got.Error != "" {
		return nil, p.names.unpack(got, data)
	}
	return data, nil
}

// unanswered says why no answer came, and tells the other side if nobody waits for one
// any more.
func (p *post) unanswered(ctx, waiting context.Context, to string, h head, err error) error {
	switch {
	case errors.Is(err, bus.ErrNoResponders):
		return errNoHub
	case ctx.Err() != nil:
		p.tell(to, head{Op: opCancel, From: h.From, Ask: h.Ask})
		return context.Cause(ctx)
	case waiting.Err() != nil:
		return context.Cause(waiting)
	}
	return fmt.Errorf("%w: %w", ErrSilent, err)
}

// tell says something that needs no answer and may be lost.
func (p *post) tell(to string, h head) {
	msg, err := h.message(nil)
	if err == nil {
		err = p.d.Bus.Publish(p.subject(to), msg)
	}
	if err != nil {
		p.d.Log.Debug("another hub is not told", "hub", to, "op", string(h.Op), "error", err)
	}
}

// heard is another hub speaking. It runs where messages arrive, so that it only takes
// note: a question is known before its cancellation comes.
func (p *post) heard(m bus.Msg) {
	h, body, err := parse(m.Data)
	if err != nil {
		p.d.Log.Warn("another hub said something odd", "kind", p.kind, "error", err)
		return
	}
	if h.Op == opCancel {
		p.mu.Lock()
		defer p.mu.Unlock()
		if cancel := p.running[h.key()]; cancel != nil {
			cancel()
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.running[h.key()] != nil || m.Respond == nil && h.Op != opLeave {
		return // whoever asks twice is answered once, and nothing is done for nobody
	}
	ctx, cancel := p.patience(h)
	if h.Op != opMore {
		p.running[h.key()] = cancel
	}
	p.work.Go(func() {
		defer p.ended(h, cancel)
		p.respond(ctx, m, h, body)
	})
}

// patience is as long as whoever asks waits.
func (p *post) patience(h head) (context.Context, context.CancelFunc) {
	if h.Wait > 0 {
		return context.WithTimeout(p.ctx, time.Duration(h.Wait)*time.Microsecond)
	}
	return context.WithCancel(p.ctx)
}

func (p *post) ended(h head, cancel context.CancelFunc) {
	cancel()
	if h.Op == opMore {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, h.key())
}

// respond answers a question, in pieces if the answer is large.
func (p *post) respond(ctx context.Context, m bus.Msg, h head, body []byte) {
	switch h.Op {
	case opLeave:
		_, _ = p.answer(ctx, h, body) // nobody waits for what came of it
		return
	case opMore:
		p.sendPiece(m, h)
		return
	}
	ctx, done := p.watch.during(ctx, h.From)
	defer done()
	got := head{}
	body, err := p.whole(ctx, h.From, h.key(), h, body)
	if err == nil {
		body, err = p.answer(ctx, h, body)
	}
	if err != nil {
		body = p.names.pack(&got, err)
	}
	msg, large, err := p.offer(got, h.key(), body)
	if err != nil {
		got = head{}
		body = p.names.pack(&got, err)
		msg, _ = got.message(body)
	}
	if large {
		time.AfterFunc(keepFor, func() { p.kept.drop(h.key()) })
	}
	if err := m.Respond(msg); err != nil && !errors.Is(err, bus.ErrClosed) {
		p.d.Log.Warn("another hub gets no answer", "kind", p.kind, "thing", h.Thing, "error", err)
	}
}

// sendPiece is a part of a large body.
func (p *post) sendPiece(m bus.Msg, h head) {
	piece := p.kept.piece(h.Ask, h.At, p.pieceSize())
	if msg, err := (head{}).message(piece); err == nil {
		_ = m.Respond(msg) // whoever asked asks again, or has gone
	}
}
