package seat

import (
	"context"
	"errors"
	"slices"

	"parley.internal/internal/identity"
	"parley.internal/protocol/kibitz"
)

// keep holds a seat until it is over, or until this hub is not to hold it.
func (s *Seats) keep(ctx context.Context, r *row, in func(error)) {
	mine, err := s.d.Leases.Acquire(ctx, r.name())
	if err != nil {
		return // another hub has it, or the store will be back
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-mine.Lost():
			cancel()
		case <-ctx.Done():
		}
	}()
	err = s.sit(ctx, r, in)
	after := context.WithoutCancel(ctx)
	if over(err) {
		if err := s.remove(after, r); err != nil {
			s.d.Log.Warn("cannot forget a seat", "room", r.room, "agent", r.agent, "error", err)
		}
		_ = mine.Retire(after)
		return
	}
	_ = mine.Release(after)
}

// over tells an end for good (the room is closed, a host or the policy said no)
// from one after which the seat is taken again.
func over(err error) bool {
	return slices.Contains([]kibitz.Code{kibitz.RoomClosed, kibitz.RoomUnknown, kibitz.Kicked, kibitz.KeyRevoked, kibitz.GateNoAgents, kibitz.LobbyDeny}, kibitz.CodeOf(err))
}

// sit puts whoever the seat is for on a chair.
func (s *Seats) sit(ctx context.Context, r *row, in func(error)) error {
	if r.agent == demoCards {
		c := newChair(r.room, "Card table", r.key)
		newTable(c)
		return s.on(ctx, r, c, in)
	}
	shown, err := s.d.Mind.Disclose(r.agent, r.tools)
	if err != nil {
		return s.gone(ctx, r)
	}
	if err := s.redisclose(ctx, r, shown); err != nil {
		return s.orGone(ctx, r, err)
	}
	c := newChair(r.room, r.agent, r.key)
	sitter := newSitter(c, s.d.Mind, r.agent, r.tools, shown)
	sitter.by = r.by
	sitter.maker = func(ctx context.Context) (identity.Actor, error) { return s.makerOf(ctx, r) }
	// The room is told of another model before it is asked: the agent enters anew.
	sitter.undisclosed = func() { c.write(&kibitz.Leave{}) }
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	s.wg.Go(func() { s.watchMaker(watching, r, func(err error) { c.post(func() { c.fail(err) }) }) })
	return s.orGone(ctx, r, s.on(ctx, r, c, in))
}

func (s *Seats) on(ctx context.Context, r *row, c *chair, in func(error)) error {
	if in != nil {
		c.in = in
	}
	c.resume, c.since = r.resume, r.since
	c.remember = func(f *kibitz.Self) {
		if err := s.remember(context.WithoutCancel(ctx), r, f.Resume, f.Seq); err != nil {
			s.d.Log.Warn("a seat will be taken anew after a restart", "room", r.room, "agent", r.agent, "error", err)
		}
	}
	err := c.sit(ctx, s.d.Rooms)
	if in != nil && err != nil {
		in(err) // if the door has not answered, this is the answer
	}
	return err
}

// redisclose brings the policy's word on the seat up to date. A key that is not
// in the policy any more was taken away, and stays so.
func (s *Seats) redisclose(ctx context.Context, r *row, shown Disclosure) error {
	who, err := s.manager(ctx, r)
	if err != nil {
		return err
	}
	state, err := s.d.Rooms.Policy(ctx, who, r.room)
	if err != nil {
		return err
	}
	entry, ok := state.Policy.FindKey(r.keyID())
	if !ok {
		return &kibitz.Refusal{Code: kibitz.KeyRevoked, Reason: "the key was taken from the policy"}
	}
	if entry.Caps != nil && entry.Caps.Backend == shown.Backend && entry.Caps.Egress == shown.Egress {
		return nil
	}
	return s.allow(ctx, who, r)
}

// gone gives up the seat of an agent that is no more.
func (s *Seats) gone(ctx context.Context, r *row) error {
	_, err := s.d.Rooms.Revoke(ctx, identity.Hub(), r.room, r.keyID())
	return errors.Join(&kibitz.Refusal{Code: kibitz.KeyRevoked, Reason: "there is no such agent any more"}, err)
}

// orGone takes the key of a seat away with the right of whoever made it.
func (s *Seats) orGone(ctx context.Context, r *row, err error) error {
	if !errors.Is(err, errMaker) {
		return err
	}
	_, revoked := s.d.Rooms.Revoke(context.WithoutCancel(ctx), identity.Hub(), r.room, r.keyID())
	return errors.Join(err, revoked)
}
