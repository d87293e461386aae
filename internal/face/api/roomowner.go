package api

import (
	"context"
	"net/http"
	"time"

	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/protocol/kibitz"
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

// roomAndPerson are the ids of the room a request is about and of a person by id or
// name.
func (rr roomRoutes) roomAndPerson(r *http.Request, idOrName string) (room, person string, err error) {
	if room, err = rr.find(r); err != nil {
		return "", "", err
	}
	if rr.people != nil {
		if p, err := rr.people.Person(r.Context(), idOrName); err == nil {
			return room, p.ID, nil
		}
	}
	return "", "", front.NewProblem(http.StatusNotFound, string(kibitz.ToUnknown), "nobody here has that name", nil)
}

func (rr roomRoutes) giveTo(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	var req struct {
		Person string `json:"person"`
	}
	if err := readBody(w, r, &req); err != nil {
		return err
	}
	id, person, err := rr.roomAndPerson(r, req.Person)
	if err != nil {
		return err
	}
	if err := rr.rooms.GiveTo(r.Context(), who, id, person); err != nil {
		return err
	}
	return rr.get(w, r, who)
}

func (rr roomRoutes) hosts(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	list, err := rr.rooms.Hosts(r.Context(), who, id)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Name = rr.nameOf(r.Context(), list[i].Person)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"hosts": list})
}

func (rr roomRoutes) appoint(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	var req struct {
		TTL float64 `json:"ttl"`
	}
	if err := readBody(w, r, &req); err != nil {
		return err
	}
	id, person, err := rr.roomAndPerson(r, r.PathValue("person"))
	if err != nil {
		return err
	}
	ttl := time.Duration(min(max(req.TTL, 0), longestHosting) * float64(time.Second))
	made, err := rr.rooms.Appoint(r.Context(), who, id, person, ttl)
	if err != nil {
		return err
	}
	made.Name = rr.nameOf(r.Context(), person)
	return writeJSON(w, http.StatusOK, made)
}

// longestHosting is ten years in seconds: longer is for good.
const longestHosting = 10 * 365 * 24 * 3600

func (rr roomRoutes) dismiss(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, person, err := rr.roomAndPerson(r, r.PathValue("person"))
	if err != nil {
		return err
	}
	if err := rr.rooms.Dismiss(r.Context(), who, id, person); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
