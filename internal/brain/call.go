package brain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"parley/internal/brain/model"
)

// Call makes one model call: it retries as the policy says while nothing went
// out, watches for silence, and stops at once, with the cause, when ctx ends, even
// if the provider does not listen. The last pair is a Done event or an error; an
// error is ctx's cause or a [*model.Error].
func Call(ctx context.Context, p model.Provider, req model.Request, policy CallPolicy) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		c := calling{ctx: ctx, provider: p, req: req, policy: &policy}
		c.yield = func(ev *model.Event) bool { return yield(*ev, nil) }
		if err := c.run(); err != nil {
			yield(model.Event{}, err)
		}
	}
}

// calling is one Call in progress.
type calling struct {
	ctx      context.Context
	provider model.Provider
	req      model.Request
	policy   *CallPolicy
	yield    func(*model.Event) bool
	sent     bool // a token went out
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
		if !sleep(c.ctx, wait) {
			return context.Cause(c.ctx)
		}
	}
}

// failure gives every error the form callers rely on; nil means ctx ended.
func (c *calling) failure(err error) *model.Error {
	if c.ctx.Err() != nil {
		return nil
	}
	var e *model.Error
	if errors.As(err, &e) {
		return e
	}
	return &model.Error{Provider: c.provider.Name(), Cause: model.CauseBadData, Err: err}
}

// attempt tries once.
func (c *calling) attempt() error {
	s := start(c.ctx, c.provider, c.req)
	defer s.close()
	silence := c.policy.FirstToken
	quiet := newWatch(silence)
	defer quiet.stop()
	for {
		events, err, ended := s.take()
		for i := range events {
			ev := &events[i]
			if ev.Kind == model.Done && ev.Usage.Rounds == 0 {
				ev.Usage.Rounds = 1
			}
			c.sent = c.sent || ev.Kind != model.Done
			if !c.yield(ev) || ev.Kind == model.Done {
				return nil
			}
		}
		if err != nil {
			return err
		}
		if ended {
			return &model.Error{Provider: c.provider.Name(), Cause: model.CauseConnect, Text: "the answer ended early"}
		}
		if len(events) > 0 {
			silence = c.policy.BetweenTokens
			quiet.heard(silence)
		}
		select {
		case <-s.wake:
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-quiet.c():
			if quiet.over() {
				return c.silent(silence)
			}
		}
	}
}

// silent is not retried: whoever waits has waited long enough.
func (c *calling) silent(d time.Duration) error {
	text := fmt.Sprintf("no answer within %s", d)
	if c.sent {
		text = fmt.Sprintf("the answer stopped for %s", d)
	}
	return &model.Error{Provider: c.provider.Name(), Cause: model.CauseTimeout, Text: text, Final: true}
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
