package room

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

const (
	auditHost    = audit.RoomHost
	auditBlocked = audit.RoomBlocked
)

// The calls about a room's owner and hosts.
const (
	opGive   = "give"
	opHost   = "host"
	opUnhost = "unhost"
	opHosts  = "hosts"
)

// appointing are the calls that change who manages the room: nobody who was appointed
// appoints others.
var appointing = map[string]bool{opGive: true, opHost: true, opUnhost: true, "close": true}

// Hosting is a person whom a room's owner made a host of it.
type Hosting struct {
	// Person is the id; Name is filled in for people.
	Person string    `json:"person"`
	Name   string    `json:"name,omitempty"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	// Expires is zero if it does not end by itself.
	Expires time.Time `json:"expires_at,omitzero"`

	// giver is who gave it, with the credential it was given with.
	giver identity.Actor
}

// giveTo makes somebody else the owner. The former one is nobody special then.
func (r *room) giveTo(by identity.Actor, person string) error {
	err := r.write(func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE rooms SET owner = ? WHERE id = ?`, person, r.id)
		return err
	}, r.entry(audit.RoomOwner, by.String(), nil, "to "+person))
	if err != nil {
		return err
	}
	r.owner = person
	r.rehost()
	return nil
}

// appointHost makes somebody a host, for a while at most as long as whoever says so may.
func (r *room) appointHost(by identity.Actor, person string, ttl time.Duration) (Hosting, error) {
	now := time.Now()
	lasting, err := r.lasting(by)
	if err != nil {
		return Hosting{}, err
	}
	h := Hosting{Person: person, By: by.String(), At: now, giver: lasting}
	if ttl > 0 {
		h.Expires = now.Add(ttl)
	}
	if end := lasting.Expires; !end.IsZero() && (h.Expires.IsZero() || end.Before(h.Expires)) {
		h.Expires = end
	}
	giver, err := json.Marshal(h.giver)
	if err != nil {
		return h, err
	}
	err = r.write(func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO room_hosts (room, person, by_whom, giver, at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (room, person) DO UPDATE SET by_whom = excluded.by_whom, giver = excluded.giver, at = excluded.at, expires_at = excluded.expires_at`,
			r.id, person, h.By, string(giver), store.Micros(h.At), store.Micros(h.Expires))
		return err
	}, r.entry(audit.RoomHost, h.By, nil, "appointed "+person))
	if err != nil {
		return h, err
	}
	r.hostings[person] = h
	if !h.Expires.IsZero() {
		r.need(h.Expires)
	}
	r.rehost()
	return h, nil
}

// lasting is who gave something that stays when their page is closed.
func (r *room) lasting(by identity.Actor) (identity.Actor, error) {
	if r.e.d.People == nil {
		return by, nil
	}
	ctx, cancel := context.WithTimeout(r.e.ctx, writeTime)
	defer cancel()
	return r.e.d.People.Lasting(ctx, by)
}

// dismissHost takes it back.
func (r *room) dismissHost(by identity.Actor, person string) error {
	err := r.write(func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM room_hosts WHERE room = ? AND person = ?`, r.id, person)
		return err
	}, r.entry(audit.RoomHost, by.String(), nil, "dismissed "+person))
	if err != nil {
		return err
	}
	delete(r.hostings, person)
	r.rehost()
	return nil
}

// hostList are those whose appointment holds.
func (r *room) hostList() []Hosting {
	list := []Hosting{}
	for person, h := range r.hostings {
		if r.hosting(person) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b Hosting) int { return strings.Compare(a.Person, b.Person) })
	return list
}

// dueHosts ends appointments whose time is over.
func (r *room) dueHosts(now time.Time) {
	ended := false
	for person, h := range r.hostings {
		switch {
		case h.Expires.IsZero():
		case now.Before(h.Expires):
			r.need(h.Expires)
		default:
			delete(r.hostings, person)
			ended = true
			r.note(note{kind: audit.RoomHost, actor: "hub", detail: "the appointment of " + person + " is over"})
		}
	}
	if ended {
		r.rehost()
	}
}

func readHosts(tx *store.Tx, room string) (map[string]Hosting, error) {
	found := map[string]Hosting{}
	return found, tx.Each(func(row *sql.Rows) error {
		var h Hosting
		var giver string
		var at, expires int64
		if err := row.Scan(&h.Person, &h.By, &giver, &at, &expires); err != nil {
			return err
		}
		h.At, h.Expires = store.Time(at), store.Time(expires)
		found[h.Person] = h
		err := json.Unmarshal([]byte(giver), &h.giver)
		found[h.Person] = h
		return err
	}, `SELECT person, by_whom, giver, at, expires_at FROM room_hosts WHERE room = ?`, room)
}
