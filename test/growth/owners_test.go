//go:build linux

package growth_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// This file tries the things that agents have at the meeting place, and folders that people
// share. The law is docs/security.md's and docs/decisions/028's.

// placed is an agent at the meeting place; whose it is changes with each try.
const placed = "placed"

// grantOf is a folder that somebody shared.
type grantOf struct {
	by, to *person
	id     string
}

// grants are those of each sequence.
var grants = map[*run][]grantOf{}

// More probes and steps; the maps are made before this is.
var _ = func() bool {
	probes["running the place"] = runPlace
	probes["what somebody's agent has at the place"] = reachPlaced
	probes["somebody's shared folder"] = seeGrant
	probes["taking somebody's grant back"] = takeGrant
	nobodys = append(nobodys, "taking somebody's grant back")
	steps["share a folder"] = (*run).Share
	return true
}()

// runPlace tries what is the hub's at its meeting place.
func runPlace(r *run, c *credential) outcome {
	ways := [][2]string{{"GET", "peers"}, {"GET", "trust"}, {"GET", "audit"}, {"GET", "audit/hours"}, {"GET", "graph"}, {"POST", "audit/salt"}}
	way := rapid.SampledFrom(ways).Draw(r.t, "request")
	a := r.rest(c, way[0], "/api/place/"+way[1], nil)
	return outcome{got: a.in(), may: c.may("place:manage"), there: true, detail: way[1]}
}

// placedID is the agent's id at the place; it is made when it is first needed.
func (r *run) placedID() (id string) {
	if r.rest(r.root, "GET", "/api/agents/"+placed+"/file", nil).status == 404 {
		r.must(r.Do("POST", "/api/agents", `{"name":"`+placed+`","description":"d","prompt":"p","place":true}`))
	}
	r.eventually(placed+" is at the place", func() bool {
		var list struct{ Agents []struct{ ID, Name string } }
		r.decode(r.rest(r.root, "GET", "/api/place/agents", nil), &list)
		for _, a := range list.Agents {
			if a.Name == placed {
				id = a.ID
			}
		}
		return id != ""
	})
	return id
}

// reachPlaced gives the agent to somebody, and has somebody try what it has, or speak as it.
func reachPlaced(r *run, c *credential) outcome {
	p, id := rapid.SampledFrom(r.people).Draw(r.t, "whose"), r.placedID()
	r.must(r.Do("PUT", "/api/agents/"+placed, fmt.Sprintf(`{"owner":%q}`, p.name)))
	out := outcome{may: c.may("place:manage") || c.may("place") && c.person == p, there: true, detail: "agent of " + p.name}
	ways := []string{"keys", "received", "note", "sessions", "owner"}
	if c.kind != "page" {
		ways = append(ways, "mcp")
	}
	way := r.draw("way", ways...)
	out.detail = way + " of the " + out.detail
	switch way {
	case "keys":
		out.got = strings.Contains(string(r.rest(c, "GET", "/api/place/keys", nil).body), id)
	case "received":
		out.got = strings.Contains(string(r.rest(c, "GET", "/api/skills/received", nil).body), id)
	case "note":
		out.got = r.rest(c, "POST", "/api/skills/note", map[string]any{"agent": placed, "to": "nobody-there", "text": "x"}).in()
	case "sessions":
		out.got = r.rest(c, "DELETE", "/api/place/agents/"+id+"/sessions", nil).in()
	case "owner": // whoever changes agents makes it their own
		out.got = r.rest(c, "PUT", "/api/agents/"+placed, map[string]any{"owner": c.person.name}).status/100 == 2
		out.may = c.may("admin") || c.may("agents:manage") && c.person == p
	case "mcp":
		ctx, cancel := r.ctx()
		defer cancel()
		_, err := r.mcp(ctx, c, "place_receive", map[string]any{"as": placed})
		out.got = err == nil
	}
	return out
}

// Share has somebody share their folder with somebody else.
func (r *run) Share(t *rapid.T) {
	by := r.root // whose folder is nobody's here
	if rapid.Bool().Draw(t, "one of them") {
		by = r.usable("by")
	}
	others := slices.DeleteFunc(slices.Clone(r.people), func(p *person) bool { return p == by.person })
	if len(others) == 0 {
		return
	}
	to := rapid.SampledFrom(others).Draw(t, "to")
	body := map[string]any{"person": to.name, "read_only": rapid.Bool().Draw(t, "only to read")}
	if rapid.Bool().Draw(t, "for a while") {
		body["until"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	}
	a := r.rest(by, "POST", "/api/workspace/grants", body)
	if a.status/100 != 2 {
		return
	}
	if !by.may("task:submit") {
		t.Fatalf("%s shared a folder with %s without task:submit: %s", by, to.name, a.body)
	}
	var made struct{ ID string }
	r.decode(a, &made)
	r.cleanup = append(r.cleanup, func() { r.Do("DELETE", "/api/workspace/grants/"+made.ID, "") })
	grants[r] = append(grants[r], grantOf{by: by.person, to: to, id: made.ID})
}

// seeGrant looks for a grant among those that the hub shows.
func seeGrant(r *run, c *credential) outcome {
	if len(grants[r]) == 0 {
		return outcome{}
	}
	g := rapid.SampledFrom(grants[r]).Draw(r.t, "grant")
	a := r.rest(c, "GET", "/api/workspace/grants", nil)
	return outcome{
		got: strings.Contains(string(a.body), g.id), may: c.may("task:submit") && (c.person == g.by || c.person == g.to || c.may("admin")), there: true,
		detail: "of " + g.by.name + " for " + g.to.name,
	}
}

// takeGrant has those try who may not.
func takeGrant(r *run, c *credential) outcome {
	for _, g := range grants[r] {
		if c.may("task:submit") && (c.person == g.by || c.person == g.to || c.may("admin")) {
			continue
		}
		return outcome{got: r.rest(c, "DELETE", "/api/workspace/grants/"+g.id, nil).in(), there: true, detail: "of " + g.by.name}
	}
	return outcome{}
}
