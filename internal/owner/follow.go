package owner

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
)

// Stream is what somebody sees of a thing, in order. Next waits for what comes; io.EOF
// is the end. Close may be called at any time, once.
type Stream[A any] interface {
	Next(ctx context.Context) (A, error)
	Close()
}

const (
	// pollTime is how long a batch is waited for before the follower asks again.
	pollTime = 20 * time.Second
	// mostAhead is how much is read ahead of a follower on another hub. A slow one
	// holds up its own stream and nothing else.
	mostAhead = 64
	// closeTime is after how long a stream that nobody asks for is closed: its
	// follower's hub is gone.
	closeTime = time.Minute
)

// Follow opens a stream of a thing, here or on another hub. When its owner dies or
// loses the thing the stream ends with ErrMoving: the caller follows the next owner,
// from where it stands.
func (ts *Things[T, Q, A]) Follow(ctx context.Context, id string, q Q) (s Stream[A], err error) {
	err = ts.search(ctx, func() error {
		t, hub, err := ts.locate(ctx, id)
		switch {
		case err != nil:
			return err
		case hub == "":
			s, err = ts.kind.Follow(ctx, t, q)
			return err
		}
		ticket, err := ts.send(ctx, hub, head{Op: opFollow, Thing: id}, q)
		s = &farStream[A]{post: ts.post, hub: hub, ticket: string(ticket)}
		if err != nil {
			err = ts.missed(ctx, id, hub, err)
		}
		return err
	})
	return s, err
}

// farStream is a stream on another hub. Each batch is asked for, so that a slow
// follower slows nobody, here as there; one whose answer was lost is asked for again.
type farStream[A any] struct {
	post        *post
	hub, ticket string
	at          int64
	batch       []A
}

func (s *farStream[A]) Next(ctx context.Context) (a A, err error) {
	for len(s.batch) == 0 {
		raw, err := s.post.request(ctx, s.hub, head{Op: opNext, Thing: s.ticket, At: s.at}, nil)
		switch {
		case errors.Is(err, errMoved), errors.Is(err, ErrSilent):
			return a, ErrMoving
		case err != nil:
			return a, err
		}
		if err := json.Unmarshal(raw, &s.batch, lenient); err != nil {
			return a, err
		}
		s.at++
	}
	a, s.batch = s.batch[0], s.batch[1:]
	return a, nil
}

func (s *farStream[A]) Close() {
	s.post.tell(s.hub, head{Op: opLeave, From: s.post.hub, Ask: s.ticket + ".leave", Thing: s.ticket})
}

// lent is a stream of ours that another hub looks through.
type lent[A any] struct {
	stream Stream[A]
	stop   context.CancelFunc
	unused *time.Timer
	ahead  chan A
	err    error // why ahead is closed

	turn chan struct{} // one batch at a time
	at   int64         // of the next batch
	last []byte        // the one before
}

// lend opens a stream for another hub, which names it by its own question.
func (ts *Things[T, Q, A]) lend(ctx context.Context, h head, t T, q Q) ([]byte, error) {
	stream, err := ts.kind.Follow(ctx, t, q)
	if err != nil {
		return nil, err
	}
	l := &lent[A]{stream: stream, ahead: make(chan A, mostAhead), turn: make(chan struct{}, 1)}
	reading, stop := context.WithCancel(ts.post.ctx)
	l.stop = stop
	l.unused = time.AfterFunc(closeTime, func() { ts.takeBack(h.key()) })
	ts.mu.Lock()
	ts.streams[h.key()] = l
	ts.mu.Unlock()
	if !ts.post.spawn(func() { l.read(reading) }) {
		ts.takeBack(h.key())
		return nil, errMoved
	}
	return []byte(h.Ask), nil
}

// read reads ahead of the follower.
func (l *lent[A]) read(ctx context.Context) {
	defer close(l.ahead)
	for {
		a, err := l.stream.Next(ctx)
		if err != nil {
			l.err = err
			return
		}
		select {
		case l.ahead <- a:
		case <-ctx.Done():
			l.err = ctx.Err()
			return
		}
	}
}

// takeBack closes a stream that nobody looks through any more.
func (ts *Things[T, Q, A]) takeBack(key string) {
	ts.mu.Lock()
	l := ts.streams[key]
	delete(ts.streams, key)
	ts.mu.Unlock()
	if l != nil {
		l.unused.Stop()
		l.stop()
		l.stream.Close()
	}
}

func (ts *Things[T, Q, A]) closeStreams() {
	ts.mu.Lock()
	var keys []string
	for key := range ts.streams {
		keys = append(keys, key)
	}
	ts.mu.Unlock()
	for _, key := range keys {
		ts.takeBack(key)
	}
}

// nextBatch is what a stream has since the last one.
func (ts *Things[T, Q, A]) nextBatch(ctx context.Context, h head) ([]byte, error) {
	ts.mu.Lock()
	l := ts.streams[h.From+" "+h.Thing]
	ts.mu.Unlock()
	if l == nil {
		return nil, errMoved
	}
	l.unused.Reset(closeTime)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	switch h.At {
	case l.at - 1:
		return l.last, nil
	case l.at:
		return l.gather(ctx)
	}
	return nil, errMoved
}

// gather waits for something to show and takes what else there is; nothing at all is a
// batch too.
func (l *lent[A]) gather(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	batch := []A{}
	select {
	case a, more := <-l.ahead:
		if !more {
			return nil, l.err
		}
		batch = append(batch, a)
	case <-ctx.Done():
	}
	for len(l.ahead) > 0 && len(batch) < mostAhead {
		batch = append(batch, <-l.ahead)
	}
	data, err := json.Marshal(batch, lenient)
	if err == nil {
		l.at, l.last = l.at+1, data
	}
	return data, err
}
