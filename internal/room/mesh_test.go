package room_test

import (
	"testing"
	"testing/synctest"

	"parley.internal/protocol/kibitz"
)

// Where content goes peer to peer, only its receiver sees what was blocked.
func TestPeersReportWhatTheyBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		key := newKey(t)
		policy := openTo(key)
		policy["mesh"] = obj{"media": true, "data": true}
		id := h.open("r", policy)
		host, guest, bot := h.host(id), h.guest(id, "Gus"), h.agent(id, key, nil)
		if hello := lastOf[*kibitz.Hello](guest); !hello.Mesh.Data || !hello.Mesh.Media {
			t.Errorf("%+v; want hello.Mesh.Data, hello.Mesh.Media", hello.Mesh)
		}
		host.settled()
		if r := lastOf[*kibitz.Roster](host); !r.Mesh.Data || !r.Members[0].Publisher || r.Members[1].Publisher {
			t.Errorf("%+v; want r.Mesh.Data, r.Members[0].Publisher, not r.Members[1].Publisher", r)
		}
		for _, c := range []string{"chat", "act", "view"} {
			guest.ok(obj{"t": "blocked", "id": bot.self.ID, "c": c})
		}
		guest.ok(obj{"t": "blocked", "id": host.self.ID, "c": "chat"}) // it may: the report is not believed
		host.ok(obj{"t": "blocked", "id": guest.self.ID, "c": "view"})
		guest.refused(kibitz.ToUnknown, obj{"t": "blocked", "id": "nobody", "c": "chat"})
		guest.refused(kibitz.ToSelf, obj{"t": "blocked", "id": guest.self.ID, "c": "chat"})
		guest.refused(kibitz.ContentBad, obj{"t": "blocked", "id": bot.self.ID, "c": "dance"})
		want(host, func(a *kibitz.Audit) bool { return true })
		type line struct{ actor, id, detail string }
		var got []line
		for _, e := range h.entries(id, "blocked") {
			got = append(got, line{e.Actor, e.ID, e.Detail})
		}
		wanted := []line{{guest.self.ID, bot.self.ID, "chat"}, {guest.self.ID, bot.self.ID, "act"}, {guest.self.ID, bot.self.ID, "view"}, {host.self.ID, guest.self.ID, "view"}}
		if len(got) != len(wanted) {
			t.Fatalf("%+v", got)
		}
		for i := range got {
			if got[i] != wanted[i] {
				t.Errorf("%+v in place of %+v", got[i], wanted[i])
			}
		}
	})
}

// A change of the policy reaches those who are in; a sealed room, and one whose
// views are for one participant each, keep their content on the relay.
func TestWhatGoesPeerToPeerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := alone(t)
		id := h.open("r", openTo())
		guest := h.guest(id, "Gus")
		for _, c := range []struct {
			policy string
			data   bool
			warned int
		}{
			{`{"humans":{"mode":"open"},"mesh":{"data":true}}`, true, 0},
			{`{"humans":{"mode":"open"},"mesh":{"data":true},"views":{"directedOnly":true}}`, false, 1},
			{`{"humans":{"mode":"open"},"mesh":{"data":true},"sealed":true}`, false, 1},
			{`{"humans":{"mode":"open"}}`, false, 0},
		} {
			state := must(h.SetPolicy(t.Context(), me, id, []byte(c.policy), 0))(t)
			guest.settled()
			if r := lastOf[*kibitz.Roster](guest); r.Mesh.Data != c.data || len(state.Warnings) != c.warned+1 {
				t.Errorf("%s: %+v %v", c.policy, r.Mesh, state.Warnings)
			}
		}
		guest.refused(kibitz.SigOff, obj{"t": "blocked", "id": "x", "c": "chat"})
	})
}
