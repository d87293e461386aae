package room

import (
	"database/sql"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// Bounds of an invite's life, and of how many of a room are good at a time.
const (
	defaultInvite = 24 * time.Hour
	longestInvite = 366 * 24 * time.Hour
	mostInvites   = 10_000
)

// Invited is a pass that was given out, without the pass itself.
type Invited struct {
	// ID is the hash of the pass: whoever came with it has it as well.
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	JKT     string    `json:"jkt,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires_at"`
	// Withdrawn: it is good for nobody any more.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

func (i Invited) good(now time.Time) bool { return !i.Withdrawn && now.Before(i.Expires) }

// makeInvite signs a pass. What is kept of it is only for listing and withdrawing it.
func (r *room) makeInvite(who by, req InviteRequest) (Invite, error) {
	ttl := req.TTL
	if ttl <= 0 {
		ttl = defaultInvite
	}
	now := time.Now()
	r.forgetInvites(now)
	switch {
	case req.Name == "":
		return Invite{}, deny(kibitz.ContentBad, "an invite needs a name")
	case len(r.invites) >= mostInvites:
		return Invite{}, deny(kibitz.LimitSize, "too many invites are good at this time; withdraw some")
	}
	in := Invited{Name: kibitz.CleanName(req.Name), JKT: req.JKT, By: who.actor, At: now, Expires: now.Add(min(ttl, longestInvite)).Truncate(time.Second)}
	token, err := kibitz.Sign(r.key, kibitz.Invite{Name: in.Name, Room: r.id, Exp: in.Expires.Unix(), JKT: req.JKT, Caps: req.Caps})
	if err != nil {
		return Invite{}, err
	}
	in.ID = hashOf(token)
	err = r.write(func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM room_invites WHERE room = ? AND expires_at <= ?`, r.id, store.Micros(now)); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO room_invites (room, id, name, jkt, by_whom, at, expires_at, withdrawn) VALUES (?, ?, ?, ?, ?, ?, ?, 0)
			ON CONFLICT (room, id) DO NOTHING`, r.id, in.ID, in.Name, in.JKT, in.By, store.Micros(in.At), store.Micros(in.Expires))
		return err
	}, r.entry(audit.RoomInvited, who.actor, nil, in.Name))
	if err != nil {
		return Invite{}, err
	}
	r.invites[in.ID] = in
	return Invite{ID: in.ID, Token: token}, nil
}

// passLife is how long a pass opens the door; who is in by then stays.
const passLife = time.Hour

// Pass is what a person gives to a page of another website.
type Pass struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires_at"`
}

// makePass signs a pass of somebody who may enter, for a page of a website. It opens
// this room, for as long as it says, and nothing else; it makes nobody a host, because
// what runs in such a page is the website's.
func (r *room) makePass(who identity.Actor, origin string) (Pass, error) {
	mode := r.policy.Humans.Mode
	enters := r.rightOfActor(who) != "" || mode == kibitz.HumansHub || mode == kibitz.HumansOpen
	switch {
	case !who.Human():
		return Pass{}, deny(kibitz.GateMissing, "only a person of this hub has a pass")
	case !enters, mode == kibitz.HumansNone, mode == kibitz.HumansOIDC:
		return Pass{}, deny(kibitz.GateMissing, "this room does not let people in by their login here")
	case r.barred(who.String()):
		return Pass{}, errKicked
	}
	until := time.Now().Add(passLife).Truncate(time.Second)
	token, err := kibitz.Sign(r.key, kibitz.Invite{Name: kibitz.CleanName(who.Person.Name), Room: r.id, Exp: until.Unix(), Sub: who.String()})
	if err != nil {
		return Pass{}, err
	}
	r.note(note{kind: audit.RoomInvited, actor: who.String(), detail: "a pass for " + origin})
	return Pass{Token: token, Expires: until}, nil
}

// forgetInvites drops those whose time is over: their signature says so as well.
func (r *room) forgetInvites(now time.Time) {
	for id, in := range r.invites {
		if !now.Before(in.Expires) {
			delete(r.invites, id)
		}
	}
}

// inviteList is those that are good, the newest first.
func (r *room) inviteList() []Invited {
	out := []Invited{}
	for _, in := range r.invites {
		if in.good(time.Now()) {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b Invited) int { return b.At.Compare(a.At) })
	return out
}

// withdrawInvite makes a pass worthless and ends the presence of whoever came with it.
func (r *room) withdrawInvite(who by, id string) error {
	in, ok := r.invites[id]
	if !ok || !in.good(time.Now()) {
		return deny(kibitz.ToUnknown, "no such invite")
	}
	err := r.write(func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE room_invites SET withdrawn = 1 WHERE room = ? AND id = ?`, r.id, id)
		return err
	}, r.entry(audit.RoomInvited, who.actor, nil, "withdrawn: "+in.Name))
	if err != nil {
		return err
	}
	in.Withdrawn = true
	r.invites[id] = in
	for _, p := range r.everybody() {
		if p.Invite == id {
			r.kick(p, errWithdrawn, who.actor, false)
		}
	}
	for _, c := range r.conns {
		if c.p == nil && c.passed != nil && c.passed.Invite == id {
			waited, was := c.waiting, c.passed
			c.waiting, c.cleared, c.passed = false, false, nil
			if waited {
				r.refuse(c, errWithdrawn, was)
			}
		}
	}
	r.changed()
	return nil
}

var errWithdrawn = deny(kibitz.GateNotListed, "the invite was withdrawn")

// readInvites gives a room's, withdrawn ones too.
func readInvites(tx *store.Tx, room string) (map[string]Invited, error) {
	out := map[string]Invited{}
	err := tx.Each(func(row *sql.Rows) error {
		var in Invited
		var at, expires, withdrawn int64
		err := row.Scan(&in.ID, &in.Name, &in.JKT, &in.By, &at, &expires, &withdrawn)
		in.At, in.Expires, in.Withdrawn = store.Time(at), store.Time(expires), withdrawn != 0
		out[in.ID] = in
		return err
	}, `SELECT id, name, jkt, by_whom, at, expires_at, withdrawn FROM room_invites WHERE room = ?`, room)
	return out, err
}
