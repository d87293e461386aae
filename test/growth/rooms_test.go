//go:build linux

package growth_test

import (
	"fmt"

	"pgregory.net/rapid"
)

// roomOf is a room: whose it is, and who was made a host of it with what.
type roomOf struct {
	id    string
	owner *person
	hosts map[*person]*credential
}

// GoString is how a drawn one is shown in a failure.
func (o *roomOf) GoString() string { return o.id + " of " + o.owner.name }

// owns is the law: a room is its owner's, and reached by admin.
func (o *roomOf) owns(c *credential) bool {
	return c.may("rooms") && (c.person == o.owner || c.may("admin"))
}

// manages is the law: so do hosts, while whoever made them one owns the room and what they
// did it with stands. Logging out of a page ends nothing.
func (o *roomOf) manages(c *credential) bool {
	giver, appointed := o.hosts[c.person]
	stands := appointed && (giver.line() == nil || !giver.line().dead) && (giver.person == o.owner || giver.scopes["admin"])
	return o.owns(c) || c.may("rooms") && stands
}

// whoOwn are the credentials that decide about a room.
func (r *run) whoOwn(o *roomOf) (list []*credential) {
	for _, c := range r.there {
		if c.kind != "passkey" && o.owns(c) {
			list = append(list, c)
		}
	}
	return list
}

// OpenRoom opens a room.
func (r *run) OpenRoom(*rapid.T) { r.openRoom(r.usable("by")) }

// openRoom is the room that a credential opened; nil if the hub did not let it.
func (r *run) openRoom(by *credential) *roomOf {
	a := r.rest(by, "POST", "/api/rooms", map[string]any{"room": fmt.Sprintf("room-%d", r.next()), "title": "t"})
	if a.status/100 != 2 {
		return nil
	}
	if !by.may("rooms") {
		r.t.Fatalf("%s opened a room without rooms: %s", by, a.body)
	}
	var made struct{ Room string }
	r.decode(a, &made)
	o := &roomOf{id: made.Room, owner: by.person, hosts: map[*person]*credential{}}
	r.rooms = append(r.rooms, o)
	return o
}

// LoseRoom has somebody make a host of their room, themselves perhaps, and give the room
// away or lose what they did it with: then that host tries to go on.
func (r *run) LoseRoom(t *rapid.T) {
	by, host := r.usable("by"), rapid.SampledFrom(r.people).Draw(t, "host")
	o := r.openRoom(by)
	if o == nil {
		return
	}
	r.decide(o, by, "host", host)
	if by.id == "" || by.line() != by || rapid.Bool().Draw(t, "given away") {
		r.decide(o, by, "give", rapid.SampledFrom(r.people).Draw(t, "to"))
	} else if a := r.end(r.root, by); a.status/100 == 2 {
		r.hasEnded(by)
	}
	for _, c := range r.there {
		if c.person == host && !c.dead && c.kind != "passkey" {
			r.hold(c, "somebody's room", r.tryRoom(c, o))
		}
	}
}

// ShareRoom makes somebody a host, takes that back, or gives the room away.
func (r *run) ShareRoom(t *rapid.T) {
	if len(r.rooms) == 0 {
		return
	}
	o, by, to := rapid.SampledFrom(r.rooms).Draw(t, "room"), r.usable("by"), rapid.SampledFrom(r.people).Draw(t, "to")
	if mine := r.whoOwn(o); len(mine) > 0 && rapid.Bool().Draw(t, "by who may") {
		by = rapid.SampledFrom(mine).Draw(t, "owner")
	}
	r.decide(o, by, r.draw("what", "host", "dismiss", "give"), to)
}

// decide has somebody decide who manages a room.
func (r *run) decide(o *roomOf, by *credential, what string, to *person) {
	path := "/api/rooms/" + o.id
	var a answer
	switch what {
	case "host":
		a = r.rest(by, "PUT", path+"/hosts/"+to.name, map[string]any{})
	case "dismiss":
		a = r.rest(by, "DELETE", path+"/hosts/"+to.name, nil)
	case "give":
		a = r.rest(by, "PUT", path+"/owner", map[string]any{"person": to.name})
	}
	r.tally("deciding about a room: "+what, a.status/100 == 2)
	if a.status/100 != 2 {
		return
	}
	if !o.owns(by) && !(what == "dismiss" && to == by.person && o.manages(by)) {
		r.t.Fatalf("%s decided about %#v, which is not theirs: %s of %s", by, o, what, to.name)
	}
	switch what {
	case "host":
		o.hosts[to] = by
	case "dismiss":
		delete(o.hosts, to)
	case "give":
		o.owner = to
	}
}

// manageRoom tries what only those may who manage a room.
func manageRoom(r *run, c *credential) outcome {
	if len(r.rooms) == 0 {
		return outcome{}
	}
	return r.tryRoom(c, rapid.SampledFrom(r.rooms).Draw(r.t, "room"))
}

func (r *run) tryRoom(c *credential, o *roomOf) outcome {
	out, path := outcome{may: o.manages(c), there: true, detail: fmt.Sprintf("%#v", o)}, "/api/rooms/"+o.id
	switch r.draw("way", "policy", "roster", "audit", "lock", "invite", "seat") {
	case "policy":
		out.got = r.rest(c, "PUT", path+"/policy", map[string]any{"humans": map[string]any{"mode": "hub"}}).in()
	case "roster":
		out.got = r.rest(c, "GET", path+"/roster", nil).in()
	case "audit":
		out.got = r.rest(c, "GET", path+"/audit", nil).in()
	case "lock":
		out.got = r.rest(c, "POST", path+"/commands", map[string]any{"op": "lobbyon"}).in()
	case "invite":
		out.got = r.rest(c, "POST", path+"/invites", map[string]any{"name": "Eve"}).in()
	case "seat": // an agent whose file lists no tools, with one
		a := r.rest(c, "POST", path+"/agents", map[string]any{"agent": "kibitzer", "tools": []string{"web_fetch"}})
		out.got, out.may = a.status/100 == 2, out.may && c.may("agents:manage")
		r.rest(r.root, "DELETE", path+"/agents/kibitzer", nil)
	}
	return out
}
