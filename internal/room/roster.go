package room

import (
	"time"

	"parley.internal/protocol/kibitz"
)

// rosterBudget bounds the bytes a second that rosters and caps of one room may
// cost: in a large room changes gather a little longer.
const rosterBudget = 20 << 20

// changed has the roster sent soon.
func (r *room) changed() {
	r.rosterDirty = true
	r.rosterOut = nil
}

// flush is what the room does after each thing it did.
func (r *room) flush() {
	if r.rosterDirty || r.capsDirty {
		r.flushRoster(time.Now())
	}
	r.flushHubs()
}

// flushRoster sends what has changed, unless it was just sent.
func (r *room) flushRoster(now time.Time) {
	if !r.rosterDirty && !r.capsDirty {
		return
	}
	if now.Before(r.rosterAt) {
		r.need(r.rosterAt)
		return
	}
	if r.rosterDirty {
		r.rosterDirty = false
		r.rosterOut = nil
		for _, p := range r.order {
			r.sendRoster(p, now)
		}
	}
	if r.capsDirty {
		r.allCaps(now)
	}
	r.rosterAt = now.Add(r.pause())
}

// pause is how long the next roster waits.
func (r *room) pause() time.Duration {
	size := 0
	if r.rosterOut != nil {
		size += len(r.rosterOut.Data)
	}
	if r.capsOut != nil {
		size += len(r.capsOut.Data)
	}
	cost := time.Duration(float64(size) * float64(len(r.order)) / rosterBudget * float64(time.Second))
	return max(r.e.d.Limits.Roster, cost)
}

// sendRoster sends the roster as the participant may see it.
func (r *room) sendRoster(p *participant, now time.Time) {
	if p.conn != nil {
		p.conn.link.Send(r.rosterFor(p, now))
	}
}

// rosterFor is the roster as the participant may see it; those who see the same
// share one frame.
func (r *room) rosterFor(p *participant, now time.Time) *Out {
	switch {
	case !p.may(bitReadRoster, seconds(now)):
		mesh := r.policy.Peers()
		return encode(&kibitz.Roster{Members: []kibitz.Member{r.member(p, now)}, Locked: r.locked, Lobby: r.lobby, Redacted: true, Mesh: &mesh, Sealed: r.told()})
	case p.tier != "" && r.anyWaiting():
		f := r.roster(now)
		f.Waiting = r.waitingList()
		return encode(f)
	}
	if r.rosterOut == nil {
		r.rosterOut = encode(r.roster(now))
	}
	return r.rosterOut
}

func (r *room) roster(now time.Time) *kibitz.Roster {
	mesh := r.policy.Peers()
	f := &kibitz.Roster{Members: r.members(now), Hosts: []string{}, Locked: r.locked, Lobby: r.lobby, Mesh: &mesh, Sealed: r.told()}
	host := ""
	for i, h := range r.hosts() {
		if i == 0 {
			host = h.ID
		}
		f.Hosts = append(f.Hosts, h.ID)
	}
	f.Host = &host
	return f
}

// told is what the roster says of the seal: only that it is open to the hub.
func (r *room) told() kibitz.Sealed {
	if s := r.sealed(); s == kibitz.SealedShared {
		return s
	}
	return kibitz.SealedNot
}

func (r *room) members(now time.Time) []kibitz.Member {
	out := make([]kibitz.Member, len(r.order))
	for i, p := range r.order {
		out[i] = r.member(p, now)
	}
	return out
}

func (r *room) member(p *participant, now time.Time) kibitz.Member {
	m := p.member(now)
	m.Publisher = r.publisher(p)
	return m
}

func (r *room) anyWaiting() bool {
	for _, c := range r.conns {
		if c.waiting {
			return true
		}
	}
	return false
}

func (r *room) waitingList() []kibitz.Waiting {
	out := []kibitz.Waiting{}
	for _, c := range r.conns {
		if c.waiting {
			shown := &participant{presence: presence{credentials: c.passed.credentials}}
			out = append(out, kibitz.Waiting{ID: c.waitID, Name: r.nameFor(shown, c.passed.shownName()), Kind: c.passed.kind})
		}
	}
	sortBy(out, func(w kibitz.Waiting) string { return w.ID })
	return out
}

// allCaps sends the map of grants to everybody, now.
func (r *room) allCaps(now time.Time) {
	r.rev++
	r.capsDirty, r.capsOut = false, nil
	for _, p := range r.order {
		r.sendCaps(p, now)
	}
}

// sendCaps sends the grants as the participant may see them.
func (r *room) sendCaps(p *participant, now time.Time) {
	if p.conn != nil {
		p.conn.link.Send(r.capsFor(p, now))
	}
}

func (r *room) capsFor(p *participant, now time.Time) *Out {
	if !p.may(bitReadRoster, seconds(now)) {
		return encode(&kibitz.Caps{Rev: r.rev, Grants: map[string]kibitz.Grant{p.ID: p.effective(now)}})
	}
	if r.capsOut == nil {
		r.capsOut = encode(&kibitz.Caps{Rev: r.rev, Grants: r.grants(now)})
	}
	return r.capsOut
}

func (r *room) grants(now time.Time) map[string]kibitz.Grant {
	out := make(map[string]kibitz.Grant, len(r.order))
	for _, p := range r.order {
		out[p.ID] = p.effective(now)
	}
	return out
}
