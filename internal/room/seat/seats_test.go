package seat_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"parley.internal/internal/room"
	"parley.internal/internal/room/seat"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/kibitz"
)

func says(text string) func(context.Context, seat.Thought) (string, error) {
	return func(context.Context, seat.Thought) (string, error) { return text, nil }
}

func wants(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Error(diff)
	}
}

// seated opens a room with a host and the kibitzer in it.
func (h *house) seated() (id string, host *person, kibitzer kibitz.Member) {
	h.t.Helper()
	id = h.open(gated)
	host = h.host(id)
	must(h.seats.Seat(h.t.Context(), me, id, seat.Request{Agent: "kibitzer"}))(h.t)
	later(time.Second)
	kibitzer, _ = host.find("kibitzer")
	return id, host, kibitzer
}

func (h *house) let(id, participant string, act ...kibitz.Capability) {
	h.t.Helper()
	g := kibitz.AgentGrant()
	g.Act = act
	must(h.rooms.SetGrant(h.t.Context(), me, id, participant, &g))(h.t)
	later(time.Second)
}

func TestASeatedAgentWatchesByItsOwnKeyAndDisclosesItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{shown: seat.Disclosure{Backend: "anthropic:claude", Egress: true}, think: says("hm")}
		h := newHouse(t, sqlite(t), mind, false)
		id, host, k := h.seated()
		if k.Kind != kibitz.Agent || k.KeyID == "" || !k.ReadOnly || k.Backend != "anthropic:claude" || !k.Egress || !k.Proven {
			t.Errorf("%+v", k)
		}
		if g := host.caps[k.ID]; g.String() != "read-chat,read-roster,receive-directed" {
			t.Errorf("its grant: %s", g)
		}
		state := must(h.rooms.Policy(t.Context(), me, id))(t)
		if entry, ok := state.Policy.FindKey(k.KeyID); !ok || entry.Label != "kibitzer" {
			t.Errorf("not in the policy: %+v", state.Policy.Agents.Keys)
		}
		trail := must(h.rooms.Audit(t.Context(), me, id, room.AuditQuery{Kind: "policy"}))(t)
		if !slices.ContainsFunc(trail.Entries, func(e room.AuditEntry) bool {
			return e.Actor == me.String() && e.Detail == "allowed "+k.KeyID
		}) {
			t.Errorf("not in the trail: %+v", trail.Entries)
		}
		// Seating it again changes nothing.
		again := must(h.seats.Seat(t.Context(), me, id, seat.Request{Agent: "kibitzer"}))(t)
		if again.KeyID != k.KeyID || len(must(h.seats.List(t.Context(), id))(t)) != 1 {
			t.Errorf("%+v; want again.KeyID to be %v, len(must(h.seats.List(t.Context(), id))(t)) to be 1", again, k.KeyID)
		}
		// It proves its key again and again, and stays.
		later(6 * time.Minute)
		if m, ok := host.find("kibitzer"); !ok || m.ID != k.ID {
			t.Error("it was put out")
		}
		if err := h.seats.Unseat(t.Context(), me, id, "kibitzer"); err != nil {
			t.Fatal(err)
		}
		later(10 * time.Second)
		if _, ok := host.find("kibitzer"); ok || len(must(h.seats.List(t.Context(), id))(t)) != 0 {
			t.Error("it is still there")
		}
		if err := h.seats.Unseat(t.Context(), me, id, "kibitzer"); kibitz.CodeOf(err) != kibitz.ToUnknown {
			t.Error(err)
		}
		if mind.calls() != 0 {
			t.Error("its model was asked")
		}
	})
}

func TestSeatsThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, sqlite(t), &script{}, false)
		for policy, code := range map[string]kibitz.Code{
			`{"agents":{"mode":"none"}}`: kibitz.GateNoAgents, `{"sealed":true}`: kibitz.SealRequired,
			`{"credits":{"requireAgentCredits":true,"issuer":["x"],"jwks":{"keys":[]}}}`: kibitz.CreditRequired,
		} {
			id := h.open(policy)
			if _, err := h.seats.Seat(t.Context(), me, id, seat.Request{Agent: "kibitzer"}); kibitz.CodeOf(err) != code {
				t.Errorf("%s: %v; want kibitz.CodeOf(err) to be %v", policy, err, code)
			}
			if list := must(h.seats.List(t.Context(), id))(t); len(list) != 0 {
				t.Errorf("%s: %+v; want len(list) to be 0", policy, list)
			}
			if keys := must(h.rooms.Policy(t.Context(), me, id))(t).Policy.Agents.Keys; len(keys) != 0 {
				t.Errorf("%s: a key was left behind", policy)
			}
			if err := h.rooms.Close(t.Context(), me, id); err != nil {
				t.Fatal(err)
			}
			later(time.Second)
		}
		if _, err := h.seats.Seat(t.Context(), me, h.open(gated), seat.Request{Agent: "nobody"}); kibitz.CodeOf(err) != kibitz.ToUnknown {
			t.Error(err)
		}
	})
}

func TestTheKibitzerAsksItsModelOnlyWhileItMaySpeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: says("nice move")}
		h := newHouse(t, sqlite(t), mind, false)
		id, host, k := h.seated()
		host.show(1)
		host.say("kibitzer, what do you think?")
		later(time.Minute)
		if mind.calls() != 0 {
			t.Error("its model was asked while it may not speak")
		}
		h.let(id, k.ID, kibitz.SendChat)
		if m, _ := host.find("kibitzer"); m.ReadOnly {
			t.Error("it still says that it only watches")
		}
		wants(t, host.lines())
		host.show(2)
		later(time.Millisecond)
		wants(t, host.lines(), "nice move")
		h.let(id, k.ID)
		host.say("kibitzer?")
		host.show(3)
		later(time.Minute)
		if m, _ := host.find("kibitzer"); !m.ReadOnly || mind.calls() != 1 {
			t.Errorf("read-only %t after %d calls", m.ReadOnly, mind.calls())
		}
	})
}

func TestCommentsAreSixSecondsApartAndRepliesAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: func(_ context.Context, th seat.Thought) (string, error) {
			if th.Reply != nil {
				return "re: " + th.Reply.Text, nil
			}
			return "view " + string(th.View), nil
		}}
		h := newHouse(t, sqlite(t), mind, false)
		id, host, k := h.seated()
		h.let(id, k.ID, kibitz.SendChat)
		host.show(1)
		host.show(2)
		later(5 * time.Second)
		wants(t, host.lines(), "view 1")
		host.say("why?") // follows its line
		host.say("and why?")
		all := []string{"view 1", "re: why?", "re: and why?"}
		wants(t, host.lines(), all...)
		later(5 * time.Second)
		wants(t, host.lines(), all...)
		later(time.Second)
		all = append(all, "view 2")
		wants(t, host.lines(), all...)
		other := h.enter(id, "Ann", nil)
		host.say("hm")
		all = append(all, "re: hm")
		mind.set(says("PASS"))
		other.say("hm, too")
		other.say("not for it")
		wants(t, host.lines(), all...)
		if n := mind.calls(); n != 6 {
			t.Errorf("%d calls: a line that is not for it was thought about", n)
		}
	})
}

func TestAReplyGoesBeforeACommentThatIsBeingThoughtAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: func(ctx context.Context, th seat.Thought) (string, error) {
			if th.Reply != nil {
				return "at once", nil
			}
			select {
			case <-time.After(time.Minute):
				return "a slow comment", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}}
		h := newHouse(t, sqlite(t), mind, false)
		id, host, k := h.seated()
		h.let(id, k.ID, kibitz.SendChat)
		host.show(1)
		later(time.Second)
		host.say("kibitzer?")
		later(time.Millisecond)
		wants(t, host.lines(), "at once")
		later(70 * time.Second)
		wants(t, host.lines(), "at once", "a slow comment")
	})
}

func TestTheKibitzerIgnoresAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: says("hello")}
		h := newHouse(t, sqlite(t), mind, false)
		id := h.open(`{"humans":{"mode":"open"},"agents":{"mode":"open"}}`)
		host := h.host(id)
		must(h.seats.Seat(t.Context(), me, id, seat.Request{Agent: "kibitzer"}))(t)
		later(time.Second)
		k, _ := host.find("kibitzer")
		h.let(id, k.ID, kibitz.SendChat)
		bot := &person{t: t}
		bot.connection = must(h.rooms.Enter(t.Context(), room.Entry{Room: id, Link: bot}))(t)
		t.Cleanup(bot.connection.Gone)
		bot.do(obj{"t": "voice", "on": true, "name": "Bot", "meta": obj{"role": "agent"}})
		later(time.Second)
		h.let(id, bot.self.ID, kibitz.SendChat)
		bot.say("kibitzer, kibitzer!")
		later(time.Minute)
		if mind.calls() != 0 {
			t.Error("it listened to an agent")
		}
		host.say("kibitzer?")
		for _, l := range mind.asked[0].Chat {
			if strings.Contains(l.Text, "kibitzer, kibitzer!") {
				t.Error("its model was shown an agent's line")
			}
		}
	})
}

func TestAModelThatFailsLeavesTheKibitzerSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: func(context.Context, seat.Thought) (string, error) { return "half an ans", errors.New("overloaded") }}
		h := newHouse(t, sqlite(t), mind, false)
		id, host, k := h.seated()
		h.let(id, k.ID, kibitz.SendChat)
		host.say("kibitzer?")
		host.show(1)
		later(time.Minute)
		wants(t, host.lines())
		if mind.calls() != 2 {
			t.Errorf("%d calls", mind.calls())
		}
		mind.set(says("back again"))
		host.say("kibitzer?")
		wants(t, host.lines(), "back again")
	})
}

// The right may go while the model thinks: then nothing is said, and not later.
func TestARefusedLineIsNotSaidLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: func(ctx context.Context, _ seat.Thought) (string, error) {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
			return "too late", nil
		}}
		h := newHouse(t, sqlite(t), mind, false)
		id, host, k := h.seated()
		h.let(id, k.ID, kibitz.SendChat)
		host.say("kibitzer?")
		h.let(id, k.ID)
		later(time.Minute)
		h.let(id, k.ID, kibitz.SendChat)
		later(time.Minute)
		wants(t, host.lines())
	})
}

func TestAnotherModelIsDisclosedBeforeItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: says("hello")}
		h := newHouse(t, sqlite(t), mind, false)
		id, host, k := h.seated()
		if k.Egress || k.Backend != "" {
			t.Errorf("offline: %+v", k)
		}
		h.let(id, k.ID, kibitz.SendChat)
		mind.mu.Lock()
		mind.shown = seat.Disclosure{Backend: "openai:gpt", Egress: true}
		mind.mu.Unlock()
		host.say("kibitzer?")
		later(20 * time.Second)
		m, _ := host.find("kibitzer")
		if m.Backend != "openai:gpt" || !m.Egress || !m.ReadOnly {
			t.Errorf("%+v; want m.Backend to be \"openai:gpt\", m.Egress, m.ReadOnly", m)
		}
		wants(t, host.lines())
		if host.caps[m.ID].Has(kibitz.SendChat) {
			t.Error("it may speak without a new grant")
		}
	})
}

func TestASeatIsTakenAgainAfterARestartAndNotAfterAKick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := &script{think: says("hello")}
		db := sqlite(t)
		h := newHouse(t, db, mind, false)
		id, _, k := h.seated()
		wide := kibitz.AgentGrant()
		wide.Act = []kibitz.Capability{kibitz.SendChat}
		must(h.rooms.SetGrant(t.Context(), me, id, k.ID, &wide))(t)
		h.stop()
		h = newHouse(t, db, mind, false)
		later(time.Second)
		host := h.host(id)
		m, ok := host.find("kibitzer")
		if !ok || m.KeyID != k.KeyID || m.ID != k.ID {
			t.Fatalf("%+v; want ok, m.KeyID to be %v, m.ID to be %v", m, k.KeyID, k.ID)
		}
		if g := must(h.rooms.Roster(t.Context(), me, id))(t).Grants[m.ID]; !g.Has(kibitz.SendChat) {
			t.Errorf("the host's grant is gone: %s", g)
		}
		if v := must(h.rooms.Policy(t.Context(), me, id))(t).Version; v != 2 {
			t.Errorf("the policy has version %d", v)
		}
		if err := h.rooms.Command(t.Context(), me, id, room.HostCommand{Op: kibitz.OpKick, Target: m.ID}); err != nil {
			t.Fatal(err)
		}
		later(20 * time.Second)
		if _, ok := host.find("kibitzer"); ok || len(must(h.seats.List(t.Context(), id))(t)) != 0 {
			t.Error("it came back")
		}
	})
}

func TestSeatedByManyAtOnceItSitsThereOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, sqlite(t), &script{}, false)
		id := h.open(gated)
		var group errgroup.Group
		keys := make([]string, 4)
		for i := range keys {
			group.Go(func() error {
				s, err := h.seats.Seat(t.Context(), me, id, seat.Request{Agent: "kibitzer"})
				keys[i] = s.KeyID
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		later(20 * time.Second)
		if slices.Sort(keys); keys[0] != keys[3] {
			t.Errorf("seated as %v", keys)
		}
		listed := must(h.rooms.Policy(t.Context(), me, id))(t).Policy.Agents.Keys
		members := must(h.rooms.Roster(t.Context(), me, id))(t).Members
		if len(listed) != 1 || len(members) != 1 {
			t.Errorf("%d keys and %d members", len(listed), len(members))
		}
	})
}

func TestSeatsAreKeptInBothDatabases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db, &script{}, false)
		id := h.open(gated)
		in := must(h.seats.Seat(t.Context(), me, id, seat.Request{Agent: "kibitzer", Tools: []string{"web"}}))(t)
		if diff := cmp.Diff([]seat.Seated{in}, must(h.seats.List(t.Context(), id))(t)); diff != "" {
			t.Error(diff)
		}
		if err := h.seats.Unseat(t.Context(), me, id, "kibitzer"); err != nil {
			t.Fatal(err)
		}
		if list := must(h.seats.List(t.Context(), id))(t); len(list) != 0 {
			t.Errorf("%+v; want len(list) to be 0", list)
		}
	})
}
