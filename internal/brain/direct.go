package brain

import (
	"context"
	"fmt"

	"parley.internal/internal/brain/model"
)

// direct is an attempt with a provider that runs on our goroutine.
type direct struct {
	calling *calling
	take    func(model.Event, error) bool // d.put, made once
	ev      model.Event
	err     error
	over    bool
}

func (c *calling) attemptDirect(p model.InProcess) (err error) {
	d := &c.direct
	if d.take == nil {
		d.calling, d.take = c, d.put
	}
	d.err, d.over = nil, false
	// A provider that panics has failed like any other.
	defer func() {
		if broken := recover(); broken != nil {
			err = brokeDown(p, broken)
		}
	}()
	p.Stream(c.ctx, c.req)(d.take)
	switch {
	case d.err != nil || d.over:
		return d.err
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	default:
		return c.endedEarly()
	}
}

// put takes one pair from the provider and tells whether it should go on.
func (d *direct) put(ev model.Event, err error) bool {
	if err != nil {
		d.err = err
	}
	if d.err != nil || d.over || d.calling.ctx.Err() != nil {
		return false
	}
	d.ev = ev // kept here, so that the parameter need not move to the heap
	last, more := d.calling.handOn(&d.ev)
	d.over = last || !more
	return !d.over
}

func brokeDown(p model.Provider, what any) error {
	return &model.Error{Provider: p.Name(), Cause: model.CauseBadData, Text: fmt.Sprintf("the provider broke down: %v", what)}
}
