package seat_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/internal/room/seat"
	"parley.internal/internal/store"
	"parley.internal/test/trailtest"
)

// notes keeps what is put into the trail.
type notes struct {
	audit.Nowhere
	mu   sync.Mutex
	list []audit.Entry
}

func (n *notes) Note(entries ...audit.Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, entries...)
}

// An agent in a room acts for whoever seated it: with what their scopes and its own grant
// share, by their token, and the trail says so. Before, it acted as nobody.
func TestASeatedAgentActsForWhoeverSeatedIt(t *testing.T) {
	var calls []identity.Actor
	looks := &tool.Tool{Name: "looks", Description: "looks", Class: tool.ReadOnly, Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		calls = append(calls, c.Actor)
		return tool.Result{Text: "{}"}, nil
	}}
	trail := &notes{}
	b := newBrain(t, &spy{}, looks)
	b.Audit = trailtest.Watch(trail)
	maker := me
	maker.TokenID, maker.Scopes = "token-1", identity.Expand(identity.Rooms, identity.AgentsManage, identity.FleetRead, identity.TaskSubmit, "machine:pc")
	shown := must(b.Disclose("kibitzer", []string{"looks"}))(t)
	must(b.Think(t.Context(), seat.Thought{Agent: "kibitzer", Disclosed: shown, Tools: []string{"looks"}, Maker: maker, Room: "r"}))(t)
	if len(calls) != 1 {
		t.Fatalf("the tool was called %d times, want once", len(calls))
	}
	got := calls[0]
	if got.Person.ID != "owner-id" || got.TokenID != "token-1" || got.Agent != "kibitzer" || got.Where != identity.InRoom || got.Run != "r" || got.InPerson {
		t.Errorf("the agent acts as %+v, want the kibitzer in room r for its person, by their token", got)
	}
	if got.Scopes.String() != "fleet:read,machine:pc" {
		t.Errorf("the agent holds %q, want what it and its person share", got.Scopes)
	}
	if len(trail.list) != 1 {
		t.Fatalf("the trail has %+v, want the call once", trail.list)
	}
	e := trail.list[0]
	if e.Action != audit.RoomTool || e.Actor != "agent:kibitzer" || e.OnBehalf != me.String() || e.Target != "looks" || e.Detail["token"] != "token-1" || e.Detail["room"] != "r" {
		t.Errorf("the trail says %+v, want who, for whom, by which token, where", e)
	}
}

// Whoever may open rooms does not give an agent tools that its file does not: that is for
// those who manage agents, for as long as they do.
func TestASeatGivesAnAgentNoToolBeyondItsFile(t *testing.T) {
	ran := map[string]int{}
	counting := func(name string) *tool.Tool {
		return &tool.Tool{Name: name, Description: name, Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) {
			ran[name]++
			return tool.Result{Text: "{}"}, nil
		}}
	}
	all := []*tool.Tool{counting("looks"), counting("spies")}
	s := &spy{}
	b := newBrain(t, s)
	b.Tools = func(_ context.Context, _ *brain.Agent, names []string) (list []*tool.Tool, _ error) {
		for _, one := range all {
			if slices.Contains(names, one.Name) {
				list = append(list, one)
			}
		}
		return list, nil
	}
	must(b.Agents.Put(t.Context(), identity.Hub(), "eye", []byte("---\ndescription: d\ntools: [looks]\n---\nYou look.")))(t)
	listed := []string{"looks", "spies"}
	if more := must(b.Beyond(t.Context(), "eye", listed))(t); !slices.Equal(more, []string{"spies"}) {
		t.Errorf("beyond the agent's file are %v, want [spies]", more)
	}
	if more, err := b.Beyond(t.Context(), "eye", []string{"looks", "shel"}); !errors.Is(err, seat.ErrNoTool) {
		t.Errorf("a name that is no tool's: %v %v, expected to be told", more, err)
	}
	shown := must(b.Disclose("eye", listed))(t)
	maker := me
	for _, c := range []struct {
		scopes string
		spied  int
	}{{identity.Rooms, 0}, {identity.AgentsManage, 1}} {
		clear(ran)
		s.asked, maker.Scopes = nil, identity.Expand(c.scopes)
		must(b.Think(t.Context(), seat.Thought{Agent: "eye", Disclosed: shown, Tools: listed, Maker: maker, Room: "r"}))(t)
		if ran["looks"] != 1 || ran["spies"] != c.spied {
			t.Errorf("seated by somebody with %s it ran %v, want the tool of its file once and the other %d times", c.scopes, ran, c.spied)
		}
	}
}

// withPeople is a house whose seats know their makers' credentials, and two people in it.
func withPeople(t *testing.T, db *store.DB, mind seat.Mind) (h *house, people *identity.Directory, alice, bob identity.Actor) {
	t.Helper()
	local := bus.NewLocal()
	people = must(identity.Open(t.Context(), db, local, identity.Options{}))(t)
	t.Cleanup(func() { _, _ = people.Close(), local.Close() })
	person := func(name string) identity.Actor {
		made := must(people.CreateToken(t.Context(), identity.Hub(), identity.TokenRequest{Principal: name, Name: name, Scopes: []string{identity.Rooms}}))(t)
		return must(people.Authenticate(t.Context(), made.Secret))(t)
	}
	h = newHouse(t, db, mind, false, people)
	return h, people, person("alice"), person("bob")
}

// An agent that somebody seated leaves when their token is revoked, and when the room is
// not theirs any more: it would speak for somebody who may not.
func TestASeatEndsWithTheRightOfWhoeverMadeIt(t *testing.T) {
	for name, end := range map[string]func(h *house, people *identity.Directory, alice, bob identity.Actor, id string) error{
		"the token is revoked": func(h *house, people *identity.Directory, alice, _ identity.Actor, _ string) error {
			return people.Revoke(h.t.Context(), identity.Hub(), alice.TokenID)
		},
		"the room is given away": func(h *house, _ *identity.Directory, alice, bob identity.Actor, id string) error {
			return h.rooms.GiveTo(h.t.Context(), alice, id, bob.Person.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mind := &script{think: says("hm")}
				h, people, alice, bob := withPeople(t, sqlite(t), mind)
				id := must(h.rooms.Open(t.Context(), alice, room.OpenRequest{Room: "r", Policy: []byte(gated)}))(t).Room
				seated := must(h.seats.Seat(t.Context(), alice, id, seat.Request{Agent: "kibitzer"}))(t)
				later(time.Minute)
				if list := must(h.seats.List(t.Context(), id))(t); len(list) != 1 {
					t.Fatalf("seated are %v, want the kibitzer: nothing has ended", list)
				}
				if err := end(h, people, alice, bob, id); err != nil {
					t.Fatal(err)
				}
				later(time.Minute)
				if list := must(h.seats.List(t.Context(), id))(t); len(list) != 0 {
					t.Errorf("seated are %v, want nobody", list)
				}
				state := must(h.rooms.Policy(t.Context(), identity.Hub(), id))(t)
				if _, ok := state.Policy.FindKey(seated.KeyID); ok {
					t.Error("the agent's key still opens the room")
				}
			})
		})
	}
}
