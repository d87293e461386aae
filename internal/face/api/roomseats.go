package api

import (
	"context"
	"net/http"

	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/internal/room"
	"parley/internal/room/seat"
	"parley/protocol/kibitz"
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
	at := func(method, path, summary string, handle roomHandler) {
		rt := rawRoute{route{Method: method, Path: "/api/rooms/{room}/agents" + path, Scope: identity.Rooms, Tag: "rooms", Summary: summary}, "application/json"}
		addRaw(a, rt, func(w http.ResponseWriter, r *http.Request, s identity.Actor) error {
			return front.RoomProblem(handle(w, r, s))
		})
	}
	at("GET", "", "Agents of this hub that sit in the room", rr.seated)
	at("POST", "", "Seat an agent of this hub; it watches until a host lets it speak", rr.seat)
	at("DELETE", "/{agent}", "Take an agent of this hub out", rr.unseat)
}

func (rr roomRoutes) seated(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	if _, err := rr.rooms.Policy(r.Context(), who, id); err != nil {
		return err
	}
	list, err := rr.seats.List(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"agents": list})
}

func (rr roomRoutes) seat(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	var req seat.Request
	if err := readBody(w, r, &req); err != nil {
		return err
	}
	s, err := rr.seats.Seat(r.Context(), who, id, req)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, s)
}

func (rr roomRoutes) unseat(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	if err := rr.seats.Unseat(r.Context(), who, id, r.PathValue("agent")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
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
