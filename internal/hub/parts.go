package hub

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
)

// part is one subject of the hub (conversations, tasks, machines …) as the hub
// handles it. Each has a file of its own here. Any function may be nil; they are
// called in the order of the fields, and the parts in the order of the list.
// What a part must undo it gives to onClose.
type part struct {
	name string
	// open builds the domain and offers its tools to agents.
	open func(context.Context) error
	// faces builds what serves the outside; h.front and h.metrics exist by then.
	faces func(context.Context) error
	// routes puts the faces on their paths.
	routes func(*front.Routes, *api.API) error
	// listen starts what needs the hub's own address, before the hub is ready.
	listen func(context.Context) error
	// count adds the part's figures to what /api/status tells.
	count func(ctx context.Context, who identity.Actor, counts map[string]int64) error
	// drain lets what runs finish and clients leave, while the hub stops; all
	// parts do so at once.
	drain func(context.Context) error
}

// theParts lists what this hub is made of. A part may use those before it.
func (h *Hub) theParts() []part {
	return []part{
		h.notifyPart(),
		h.talkPart(),
		h.terminalPart(),
		h.workPart(),
		h.fleetPart(),
		h.boardPart(),
		h.roomPart(),
		h.placePart(),
		h.skillPart(),
		h.mcpPart(),
	}
}

// openParts builds every domain.
func (h *Hub) openParts(ctx context.Context) error {
	h.parts = h.theParts()
	return h.eachPart(func(p part) error { return call(ctx, p.open) })
}

// eachPart stops at the first error.
func (h *Hub) eachPart(do func(part) error) error {
	for _, p := range h.parts {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// drainParts runs all drains side by side: they share one grace.
func (h *Hub) drainParts(ctx context.Context) error {
	var group errgroup.Group
	for _, p := range h.parts {
		group.Go(func() error { return call(ctx, p.drain) })
	}
	return group.Wait()
}

// countParts asks every part for its figures.
func (h *Hub) countParts(ctx context.Context, who identity.Actor, counts map[string]int64) error {
	var errs []error
	for _, p := range h.parts {
		if p.count != nil {
			errs = append(errs, p.count(ctx, who, counts))
		}
	}
	return errors.Join(errs...)
}

func call(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}
