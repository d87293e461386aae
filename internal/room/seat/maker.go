package seat

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/protocol/kibitz"
)

// errMaker says that whoever seated an agent could not do so any more.
var errMaker = &kibitz.Refusal{Code: kibitz.KeyRevoked, Reason: "whoever seated the agent here may not any more"}

// made notes who seats an agent.
func (s *Seats) made(ctx context.Context, who identity.Actor, r *row) (err error) {
	r.by, r.maker = who.String(), who
	if s.d.People != nil {
		r.maker, err = s.d.People.Lasting(ctx, who)
	}
	return err
}

// makerOf is whoever seated an agent, as they stand now: with a credential that holds, and
// still managing the room. Of a seat older than makers it is nobody, who has no scope.
func (s *Seats) makerOf(ctx context.Context, r *row) (identity.Actor, error) {
	if r.maker.Person.ID == "" || s.d.People == nil {
		return r.maker, nil
	}
	now, err := s.d.People.Standing(ctx, r.maker)
	switch {
	case errors.Is(err, identity.ErrRefused), err == nil && !now.Scopes.Has(identity.Rooms):
		return identity.Actor{}, errMaker
	case err != nil:
		return identity.Actor{}, err
	}
	_, err = s.d.Rooms.Policy(ctx, now, r.room)
	if kibitz.CodeOf(err) == kibitz.HostDenied {
		err = errMaker
	}
	return now, err
}

// manager acts for a seat on the room's policy: whoever made it, or the hub for one that is
// older than makers.
func (s *Seats) manager(ctx context.Context, r *row) (identity.Actor, error) {
	if r.maker.Person.ID == "" {
		return identity.Hub(), nil
	}
	return s.makerOf(ctx, r)
}

// watchMaker ends a seat soon after the right of whoever made it has ended.
func (s *Seats) watchMaker(ctx context.Context, r *row, end func(error)) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := s.makerOf(ctx, r); errors.Is(err, errMaker) {
			end(err)
			return
		}
	}
}
