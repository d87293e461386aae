package brain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/pause"
)

// Call makes one model call: it retries as the policy says while nothing went
// out, watches for silence, and stops at once, with the cause, when ctx ends, even
// if the provider does not listen. The last pair is a Done event or an error; an
// error is ctx's cause or a [*model.Error].
func Call(ctx context.Context, p model.Provider, req model.Request, policy CallPolicy) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(errOver)
		c := calling{ctx: ctx, cancel: cancel, provider: p, req: req, policy: &policy}
		c.yield = func(ev *model.Event) bool { return yield(*ev, nil) }
		if err := c.run(); err != nil {
			yield(model.Event{}, err)
		}
	}
}

// errOver is the cause of a context that was ended by the call itself.
var errOver = errors.New("the call is over")

// calling is one Call in progress.
type calling struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc // ends ctx, to make the provider stop
	provider model.Provider
	req      model.Request
	policy   *CallPolicy
	yield    func(*model.Event) bool
	sent     bool // a token went out
	stream   *stream
	direct   direct
}

// run makes the call. nil means that everything was said, or nobody listens.
func (c *calling) run() error {
	for attempt := 1; ; attempt++ {
		c.req.Attempt = attempt
		err := c.attempt()
		if err == nil {
			return nil
		}
		failure := c.failure(err)
		if failure == nil {
			return context.Cause(c.ctx)
		}
		if c.sent || attempt >= c.policy.Attempts || !failure.Retryable() {
			return failure
		}
		wait := c.policy.pause(attempt, failure)
		if c.policy.OnRetry != nil {
			c.policy.OnRetry(attempt, wait, failure)
		}
		if pause.For(c.ctx, wait) != nil {
			return context.Cause(c.ctx)
		}
	}
}

// failure gives every error the form callers rely on; nil means ctx ended.
func (c *calling) failure(err error) *model.Error {
	if cancelled(c.ctx) {
		return nil
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	return &model.Error{Provider: c.provider.Name(), Cause: model.CauseBadData, Err: err}
}

// cancelled tells whether somebody else ended ctx.
func cancelled(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), errOver)
}

// attempt tries once. A provider that was not heard to its end is told to stop;
// one that does not listen is left behind with its stream.
func (c *calling) attempt() error {
	if p, ok := c.provider.(model.InProcess); ok {
		return c.attemptDirect(p)
	}
	if c.stream == nil {
		c.stream = newStream(c.policy.Early)
	}
	go c.stream.pump(c.ctx, c.provider, c.req)
	heard, err := c.listen()
	if !heard {
		c.cancel(errOver)
	}
	if c.stream.close() {
		c.stream.reset()
	} else {
		c.stream = nil
	}
	return err
}

// listen hands on what the provider says; heard tells that it had its say.
func (c *calling) listen() (heard bool, err error) {
	silence := c.policy.FirstToken
	quiet := newWatch(silence)
	defer quiet.stop()
	for {
		events, ended, err := c.stream.drain()
		for i := range events {
			if last, more := c.handOn(&events[i]); last || !more {
				return last, nil
			}
		}
		early := c.stream.lastHeard()
		c.sent = c.sent || !early.IsZero()
		if err != nil {
			return true, err
		}
		if ended {
			return true, c.endedEarly()
		}
		if len(events) > 0 {
			early = time.Now()
		}
		if !early.IsZero() {
			silence = c.policy.BetweenTokens
			quiet.heardAt(early, silence)
		}
		select {
		case <-c.stream.wake:
		case <-c.ctx.Done():
			return false, context.Cause(c.ctx)
		case <-quiet.c():
			quiet.heardAt(c.stream.lastHeard(), silence)
			if quiet.over() {
				return false, c.silent(silence)
			}
		}
	}
}

// handOn gives one event to whoever listens.
func (c *calling) handOn(ev *model.Event) (last, more bool) {
	last = ev.Kind == model.Done
	if last && ev.Usage.Rounds == 0 {
		ev.Usage.Rounds = 1
	}
	c.sent = c.sent || !last
	return last, c.yield(ev)
}

func (c *calling) endedEarly() error {
	return &model.Error{Provider: c.provider.Name(), Cause: model.CauseConnect, Text: "the answer ended early"}
}

// silent is not retried: whoever waits has waited long enough.
func (c *calling) silent(d time.Duration) error {
	text := fmt.Sprintf("no answer within %s", d)
	if c.sent {
		text = fmt.Sprintf("the answer stopped for %s", d)
	}
	return &model.Error{Provider: c.provider.Name(), Cause: model.CauseTimeout, Text: text, Final: true}
}
