package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/internal/room/seat"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

// RoomSeats seats agents of the hub in rooms; *seat.Seats is one.
type RoomSeats interface {
	Seat(ctx context.Context, who identity.Actor, room string, req seat.Request) (seat.Seated, error)
	Unseat(ctx context.Context, who identity.Actor, room, agent string) error
	List(ctx context.Context, room string) ([]seat.Seated, error)
	OpenDemo(ctx context.Context, who identity.Actor, req room.OpenRequest, demo string) (room.Info, error)
}

// RegisterRoomSeats adds the hub's own agents to rooms.
func RegisterRoomSeats(a *API, rooms room.API, seats RoomSeats) {
	rr := roomRoutes{rooms: rooms, seats: seats}
	inRoom(a, rr, rest.ListSeats, rr.seated)
	inRoom(a, rr, rest.SeatAgent, rr.seat)
	inRoom(a, rr, rest.UnseatAgent, rr.unseat)
}

func viewSeat(s seat.Seated) rest.Seat { return rest.Seat(s) }

func (rr roomRoutes) seated(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.Seats, error) {
	if _, err := rr.rooms.Policy(ctx, who, id); err != nil {
		return rest.Seats{}, err
	}
	list, err := rr.seats.List(ctx, id)
	return rest.Seats{Agents: each(list, viewSeat)}, err
}

func (rr roomRoutes) seat(ctx context.Context, who identity.Actor, id string, in *rest.SeatRequest) (rest.Seat, error) {
	s, err := rr.seats.Seat(ctx, who, id, seat.Request(in.Body))
	return viewSeat(s), err
}

func (rr roomRoutes) unseat(ctx context.Context, who identity.Actor, id string, in *rest.SeatName) (rest.None, error) {
	return rest.None{}, rr.seats.Unseat(ctx, who, id, in.Agent)
}

// openRoom opens a room, with a demo in it if one is asked for.
func (rr roomRoutes) openRoom(ctx context.Context, who identity.Actor, req room.OpenRequest, demo string) (room.Info, error) {
	switch {
	case demo == "":
		return rr.rooms.Open(ctx, who, req)
	case rr.seats == nil:
		return room.Info{}, &kibitz.Refusal{Code: kibitz.ContentBad, Reason: "this hub has no demos"}
	}
	return rr.seats.OpenDemo(ctx, who, req, demo)
}
