package api

import (
	"context"
	"net/http"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

// nameOf is what a person is called; somebody who is gone is called by their id.
func (rr roomRoutes) nameOf(ctx context.Context, id string) string {
	if rr.people == nil || id == "" {
		return id
	}
	if p, err := rr.people.Person(ctx, id); err == nil {
		return p.Name
	}
	return id
}

// personOf is the id of a person by id or name.
func (rr roomRoutes) personOf(ctx context.Context, idOrName string) (string, error) {
	if rr.people != nil {
		if p, err := rr.people.Person(ctx, idOrName); err == nil {
			return p.ID, nil
		}
	}
	return "", front.NewProblem(http.StatusNotFound, string(kibitz.ToUnknown), "nobody here has that name", nil)
}

func (rr roomRoutes) giveTo(ctx context.Context, who identity.Actor, id string, in *rest.RoomGift) (rest.RoomInfo, error) {
	person, err := rr.personOf(ctx, in.Body.Person)
	if err == nil {
		err = rr.rooms.GiveTo(ctx, who, id, person)
	}
	if err != nil {
		return rest.RoomInfo{}, err
	}
	return rr.get(ctx, who, id, nil)
}

func (rr roomRoutes) viewHost(ctx context.Context, h room.Hosting) rest.Host {
	return rest.Host{Person: h.Person, Name: rr.nameOf(ctx, h.Person), By: h.By, At: h.At, Expires: h.Expires}
}

func (rr roomRoutes) hosts(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.Hosts, error) {
	list, err := rr.rooms.Hosts(ctx, who, id)
	return rest.Hosts{Hosts: each(list, func(h room.Hosting) rest.Host { return rr.viewHost(ctx, h) })}, err
}

// longestHosting is ten years in seconds: longer is for good.
const longestHosting = 10 * 365 * 24 * 3600

func (rr roomRoutes) appoint(ctx context.Context, who identity.Actor, id string, in *rest.HostAppointment) (rest.Host, error) {
	person, err := rr.personOf(ctx, in.Person)
	if err != nil {
		return rest.Host{}, err
	}
	ttl := time.Duration(min(max(in.Body.TTL, 0), longestHosting) * float64(time.Second))
	made, err := rr.rooms.Appoint(ctx, who, id, person, ttl)
	return rr.viewHost(ctx, made), err
}

func (rr roomRoutes) dismiss(ctx context.Context, who identity.Actor, id string, in *rest.HostName) (rest.None, error) {
	person, err := rr.personOf(ctx, in.Person)
	if err != nil {
		return rest.None{}, err
	}
	return rest.None{}, rr.rooms.Dismiss(ctx, who, id, person)
}
