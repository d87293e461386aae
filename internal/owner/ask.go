package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"parley.internal/internal/lease"
)

const (
	// moveTime is how long a thing between two owners is waited for: a dead hub keeps
	// its leases for seconds, and whoever takes over needs some too.
	moveTime = 12 * time.Second
	// movePause and moveRest are the first and the longest pause between two looks.
	movePause, moveRest = 20 * time.Millisecond, 250 * time.Millisecond
	// mostOwners bounds what is remembered of other hubs.
	mostOwners = 1 << 16
)

// Ask has a question answered by a thing, wherever it lives.
func (ts *Things[T, Q, A]) Ask(ctx context.Context, id string, q Q) (a A, err error) {
	err = ts.search(ctx, func() (err error) {
		t, hub, err := ts.locate(ctx, id)
		switch {
		case err != nil:
			return err
		case hub == "":
			a, err = ts.kind.Do(ctx, t, q)
		default:
			a, err = ts.askAt(ctx, hub, id, q)
		}
		return err
	})
	return a, err
}

// search tries until somebody has answered, a bounded time.
func (ts *Things[T, Q, A]) search(ctx context.Context, try func() error) error {
	began := time.Now()
	for pause := movePause; ; pause = min(2*pause, moveRest) {
		err := try()
		switch {
		case !errors.Is(err, errMoved) && !errors.Is(err, ErrGone):
			return err
		case time.Since(began) > moveTime:
			return ErrMoving
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-ts.post.ctx.Done():
			timer.Stop()
			return ErrClosed
		}
	}
}

// locate finds a thing here, or the hub to ask. The lease is looked at only when this
// hub does not remember who answered last.
func (ts *Things[T, Q, A]) locate(ctx context.Context, id string) (t T, hub string, err error) {
	if t, ok := ts.Get(id); ok {
		return t, "", nil
	}
	if hub := ts.remembered(id); hub != "" {
		return t, hub, nil
	}
	if ts.kind.Bound {
		hub, err = ts.find(ctx, id)
	} else if ts.kind.Load != nil {
		t, err = ts.Take(ctx, id)
		held, elsewhere := errors.AsType[*lease.HeldError](err)
		if !elsewhere {
			return t, "", err
		}
		hub, err = held.Owner, nil
	} else {
		hub, err = ts.d.Leases.Owner(ctx, ts.lease(id))
	}
	if err != nil {
		return t, "", err
	}
	if hub == "" || hub == ts.post.hub {
		return t, "", ts.unowned(ctx, id)
	}
	if !ts.d.Clustered {
		return t, "", errMoved // a former life of this hub, over soon
	}
	ts.remember(id, hub)
	return t, hub, nil
}

// unowned is the answer about a thing that nobody owns, or that this hub owns and has
// not brought to life: errMoved if it is worth while to look again.
func (ts *Things[T, Q, A]) unowned(ctx context.Context, id string) error {
	if ts.kind.Unowned == nil {
		return errMoved
	}
	if err := ts.kind.Unowned(ctx, id); err != nil {
		return err
	}
	return errMoved
}

func (ts *Things[T, Q, A]) remembered(id string) string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.owners[id]
}

func (ts *Things[T, Q, A]) remember(id, hub string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.owners) >= mostOwners {
		clear(ts.owners) // whoever is asked for again is found again
	}
	ts.owners[id] = hub
}

func (ts *Things[T, Q, A]) forget(id, hub string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.owners[id] == hub {
		delete(ts.owners, id)
	}
}

// askAt asks the hub that should have the thing.
func (ts *Things[T, Q, A]) askAt(ctx context.Context, hub, id string, q Q) (a A, err error) {
	raw, err := ts.send(ctx, hub, head{Op: opAsk, Thing: id}, q)
	if err != nil {
		return a, ts.missed(ctx, id, hub, err)
	}
	return a, json.Unmarshal(raw, &a, lenient)
}

func (ts *Things[T, Q, A]) send(ctx context.Context, hub string, h head, q Q) ([]byte, error) {
	body, err := json.Marshal(q, lenient)
	if err != nil {
		return nil, err
	}
	return ts.post.request(ctx, hub, h, body)
}

// missed forgets a hub that does not answer for a thing. A hub that is not there owns
// nothing, whatever its lease says for some seconds.
func (ts *Things[T, Q, A]) missed(ctx context.Context, id, hub string, err error) error {
	silent := errors.Is(err, ErrSilent)
	if silent || errors.Is(err, errMoved) {
		ts.forget(id, hub)
	}
	switch {
	case silent && ts.kind.Repeatable:
		return errMoved
	case !errors.Is(err, errNoHub):
		return err
	}
	if !ts.kind.Bound {
		if now, err := ts.d.Leases.Owner(ctx, ts.lease(id)); err != nil || now != hub {
			return cmp.Or(err, errMoved)
		}
	}
	return ts.unowned(ctx, id)
}

// AskAt is Ask for who knows which hub has the thing and wants to hear it from that one:
// ErrMoving if it does not have it any more, ErrSilent if the hub is not there.
func (ts *Things[T, Q, A]) AskAt(ctx context.Context, hub, id string, q Q) (a A, err error) {
	raw, err := ts.send(ctx, hub, head{Op: opAsk, Thing: id}, q)
	switch {
	case errors.Is(err, errNoHub):
		return a, ErrSilent
	case errors.Is(err, errMoved):
		return a, ErrMoving
	case err != nil:
		return a, err
	}
	return a, json.Unmarshal(raw, &a, lenient)
}

// AskHub asks another hub and not a thing.
func (ts *Things[T, Q, A]) AskHub(ctx context.Context, hub string, q Q) (a A, err error) {
	raw, err := ts.send(ctx, hub, head{Op: opAsk}, q)
	if errors.Is(err, errMoved) {
		err = ErrSilent
	}
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(raw, &a, lenient)
}

// HubAnswer is what one hub answered.
type HubAnswer[A any] struct {
	Hub    string
	Answer A
}

// AskHubs asks all other living hubs the same, side by side. One that does not answer
// in time, or with an error, is left out.
func (ts *Things[T, Q, A]) AskHubs(ctx context.Context, patience time.Duration, q Q) (all []HubAnswer[A], err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	hubs, err := ts.others(ctx)
	if err != nil {
		return nil, err
	}
	answers := make(chan *HubAnswer[A], len(hubs))
	for _, hub := range hubs {
		go func() {
			a, err := ts.AskHub(ctx, hub, q)
			if err != nil {
				answers <- nil
				return
			}
			answers <- &HubAnswer[A]{hub, a}
		}()
	}
	for range hubs {
		if a := <-answers; a != nil {
			all = append(all, *a)
		}
	}
	return all, nil
}

// answer is what another hub gets.
func (ts *Things[T, Q, A]) answer(ctx context.Context, h head, body []byte) ([]byte, error) {
	switch h.Op {
	case opNext:
		return ts.nextBatch(ctx, h)
	case opLeave:
		ts.takeBack(h.From + " " + h.Thing)
		return nil, nil
	case opFind:
		if _, here := ts.Get(h.Thing); !here {
			return nil, errMoved
		}
		return nil, nil
	case opAsk, opFollow:
	default:
		return nil, fmt.Errorf("owner: unknown request %q", h.Op)
	}
	var q Q
	if err := json.Unmarshal(body, &q, lenient); err != nil {
		return nil, err
	}
	if h.Thing == "" {
		return ts.doHub(ctx, q)
	}
	t, ok := ts.Get(h.Thing)
	if !ok {
		return nil, errMoved
	}
	if err := ts.sure(ctx, t); err != nil {
		return nil, err
	}
	if h.Op == opFollow {
		return ts.lend(ctx, h, t, q)
	}
	a, err := ts.kind.Do(ctx, t, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a, lenient)
}

func (ts *Things[T, Q, A]) doHub(ctx context.Context, q Q) ([]byte, error) {
	if ts.kind.DoHub == nil {
		return nil, errors.New("owner: nothing is asked of a hub")
	}
	a, err := ts.kind.DoHub(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a, lenient)
}

// sure fails unless the thing is still this hub's. A hub that was stopped for a while
// asks the database before it answers for anything: it may have been given up for dead.
func (ts *Things[T, Q, A]) sure(ctx context.Context, t T) error {
	if ts.kind.Holds == nil {
		return nil
	}
	l := ts.kind.Holds(t)
	if l == nil || l.Certain() {
		return nil
	}
	err := l.Verify(ctx)
	if errors.Is(err, lease.ErrLost) {
		return errMoved
	}
	return err
}
