package room_test

import (
	"net/http"
	"testing"

	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

// manages tries everything that is for those who manage a room, and gives what went through.
func (h *hub) manages(token, id string) (let []string) {
	h.t.Helper()
	key := newKey(h.t).Public()
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/policy", nil},
		{"PUT", "/policy", obj{"humans": obj{"mode": "hub"}, "agents": obj{"mode": "open"}}},
		{"POST", "/keys", obj{"key": key}},
		{"DELETE", "/keys/" + key.Thumbprint(), nil},
		{"GET", "/roster", nil},
		{"PUT", "/grants/nobody", obj{"perceive": []string{"read-chat"}}},
		{"POST", "/commands", obj{"op": "lock"}},
		{"POST", "/commands", obj{"op": "unlock"}},
		{"POST", "/invites", obj{"name": "Eve"}},
		{"GET", "/bans", nil},
		{"GET", "/audit", nil},
		{"GET", "/hosts", nil},
		{"PUT", "/hosts/bob", obj{}},
		{"PUT", "/owner", obj{"person": "bob"}},
		{"DELETE", "", nil},
	} {
		status, out, _ := h.callAs(token, c.method, "/api/rooms/"+id+c.path, c.body, nil)
		fault, _ := out["error"].(obj)
		if status == http.StatusForbidden && fault["code"] == "host.denied" {
			continue
		}
		let = append(let, c.method+" "+c.path)
	}
	return let
}

// Whoever had the scope rooms rewrote, emptied and deleted everybody's rooms, and was a host in
// each of them.
func TestSomebodyElsesRoomIsEnteredAsItsPolicySaysAndManagedByNobodyElse(t *testing.T) {
	h := newHub(t)
	alice, bob := h.newToken("alice", "rooms").Secret, h.newToken("bob", "rooms").Secret
	_, made, _ := h.callAs(alice, "POST", "/api/rooms", obj{"room": "hers", "policy": obj{"humans": obj{"mode": "hub"}}}, nil)
	if made["owner"] != "alice" {
		t.Fatalf("the room of alice says it is of %v", made["owner"])
	}
	if let := h.manages(bob, "hers"); let != nil {
		t.Errorf("bob, who has the scope rooms, was let do this to the room of alice: %v", let)
	}
	host := h.dial("hers", alice).voice(obj{"name": "Alice"})
	guest := h.dial("hers", bob).voice(obj{"name": "Bob"})
	if !host.self.Host || host.self.Tier != kibitz.TierOperator || guest.self.Host {
		t.Errorf("alice is host %v (%s), bob %v; expected her alone", host.self.Host, host.self.Tier, guest.self.Host)
	}
	guest.refused(kibitz.HostDenied, obj{"t": "mod", "op": "kick", "target": host.self.ID})
	guest.refused(kibitz.GrantDenied, obj{"t": "grant", "id": host.self.ID, "grant": nil})
	h.audit("hers", func(e room.AuditEntry) bool { return e.Kind == "blocked" && e.Actor == "person:bob" })

	// What only those with a pass may enter is neither entered nor listed.
	h.callAs(alice, "POST", "/api/rooms", obj{"room": "secret", "policy": obj{"humans": obj{"mode": "invite"}}}, nil)
	out := h.dial("secret", bob)
	out.send(obj{"t": "voice", "on": true, "name": "Bob"})
	if l := want[*kibitz.Lobby](out); l.Code != kibitz.GateMissing {
		t.Errorf("bob at the door of a room for invited people: %+v", l)
	}
	_, list, _ := h.callAs(bob, "GET", "/api/rooms", nil, nil)
	if rooms := list["rooms"].([]any); len(rooms) != 1 || rooms[0].(obj)["room"] != "hers" {
		t.Errorf("the rooms listed for bob: %v", rooms)
	}
}

// An admin, by name, may do all of it, and the trail says that it was as one.
func TestAnAdminInSomebodyElsesRoomIsInTheTrailAsOne(t *testing.T) {
	h := newHub(t)
	alice := h.newToken("alice", "rooms").Secret
	h.callAs(alice, "POST", "/api/rooms", obj{"room": "hers"}, nil)
	if status, out := h.call("GET", "/api/rooms/hers/policy", nil); status != http.StatusOK {
		t.Fatalf("the owner of the hub is an admin: %d %v", status, out)
	}
	h.audit("hers", kind("host", "as admin: policy"))
	c := h.dial("hers", h.token).voice(obj{"name": "Owner"})
	if !c.self.Host {
		t.Errorf("an admin is a host: %+v", c.self)
	}
	h.audit("hers", kind("host", "as admin"))
}

// An owner shares the work, for a while, and gives a room away. Who was made a host makes no
// others, and is one only as long as whoever said so could.
func TestARoomsOwnerMakesHostsAndGivesTheRoomAway(t *testing.T) {
	h := newHub(t)
	alice, bob, carol := h.newToken("alice", "rooms").Secret, h.newToken("bob", "rooms").Secret, h.newToken("carol", "rooms").Secret
	h.callAs(alice, "POST", "/api/rooms", obj{"room": "hers", "policy": obj{"humans": obj{"mode": "hub"}}}, nil)
	guest := h.dial("hers", bob).voice(obj{"name": "Bob"})
	put := func(token, path string, body obj) int {
		status, _, _ := h.callAs(token, "PUT", "/api/rooms/hers"+path, body, nil)
		return status
	}
	if status := put(alice, "/hosts/bob", obj{"ttl": 3600}); status != http.StatusOK {
		t.Fatalf("alice makes bob a host: %d", status)
	}
	guest.ok(obj{"t": "mod", "op": "lock"})
	guest.ok(obj{"t": "mod", "op": "unlock"})
	if a, b, c := put(bob, "/hosts/bob", obj{}), put(bob, "/owner", obj{"person": "bob"}), put(bob, "/policy", obj{"humans": obj{"mode": "hub"}}); a != 403 || b != 403 || c != 200 {
		t.Errorf("bob as a host prolongs it: %d, takes the room: %d, changes the policy: %d; expected 403, 403, 200", a, b, c)
	}
	if status, _, _ := h.callAs(bob, "DELETE", "/api/rooms/hers", nil, nil); status != http.StatusForbidden {
		t.Errorf("bob as a host closes the room of alice: %d, expected 403", status)
	}
	if status, _, _ := h.callAs(alice, "DELETE", "/api/rooms/hers/hosts/bob", nil, nil); status != http.StatusNoContent {
		t.Fatalf("alice takes it back: %d", status)
	}
	guest.refused(kibitz.HostDenied, obj{"t": "mod", "op": "lock"})

	// With a token that ends, it ends: also for whoever is in the room.
	second := h.newToken("alice", "rooms")
	put(second.Secret, "/hosts/bob", obj{})
	guest.ok(obj{"t": "mod", "op": "lock"})
	check(t, h.people.Revoke(t.Context(), identity.Local(h.owner), second.ID))
	guest.refused(kibitz.HostDenied, obj{"t": "mod", "op": "unlock"})

	// Whom she made a host is none once the room is not hers, herself included.
	if a, c := put(alice, "/hosts/alice", obj{}), put(alice, "/hosts/carol", obj{}); a != 200 || c != 200 {
		t.Fatalf("alice makes herself and carol hosts: %d, %d", a, c)
	}
	if status := put(alice, "/owner", obj{"person": "bob"}); status != http.StatusOK {
		t.Fatalf("alice gives the room away: %d", status)
	}
	h.audit("hers", func(e room.AuditEntry) bool { return e.Kind == "owner" && e.Actor == "person:alice" })
	guest.ok(obj{"t": "mod", "op": "unlock"})
	for name, token := range map[string]string{"alice, who gave the room away,": alice, "carol, whom she had made a host,": carol} {
		if let := h.manages(token, "hers"); let != nil {
			t.Errorf("%s was still let do %v", name, let)
		}
	}
}
