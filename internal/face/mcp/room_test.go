package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/audit"
	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

// house is a rig with rooms.
type house struct {
	*rig
	rooms *room.Rooms
	me    identity.Actor
}

func newHouse(t *testing.T, o facemcp.RoomOptions) *house {
	t.Helper()
	ctx := t.Context()
	h := &house{rig: newBase(t)}
	h.me = identity.Actor{Person: identity.Principal{Kind: identity.KindPerson, ID: h.owner.ID, Name: "owner"}}
	log := must(audit.Open(ctx, h.db, audit.Options{}))(t)
	t.Cleanup(func() { check(t, log.Close()) })
	leases := must(lease.Join(ctx, h.db, "test", lease.Options{Alone: true}))(t)
	t.Cleanup(func() { check(t, leases.Close(context.Background())) })
	h.rooms = must(room.New(room.Deps{DB: h.db, Leases: leases, Bus: h.bus, Trail: log, Limits: room.Limits{NoRates: true, Roster: time.Millisecond}}))(t)
	check(t, h.rooms.Start(ctx))
	t.Cleanup(func() { check(t, h.rooms.Shutdown(context.Background())) })
	h.serve(facemcp.Limits{}, []facemcp.Toolset{facemcp.Room(h.rooms, o)})
	return h
}

func (h *house) open(name, policy string) string {
	h.t.Helper()
	return must(h.rooms.Open(h.t.Context(), h.me, room.OpenRequest{Room: name, Policy: []byte(policy)}))(h.t).Room
}

const gated = `{"humans":{"mode":"hub"},"agents":{"mode":"gated"}}`

// guest is a person in the room, without a socket.
type guest struct {
	t      *testing.T
	visit  room.Connection
	frames chan kibitz.Frame
	id     string
}

func (g *guest) Send(o *room.Out) {
	frame, err := kibitz.DecodeHub(o.Data)
	if err != nil {
		g.t.Error(err)
		return
	}
	g.frames <- frame
}
func (*guest) Close(int, string) {}
func (*guest) Admitted()         {}

// enter seats a person and waits until they are in.
func (h *house) enter(id string) *guest {
	h.t.Helper()
	g := &guest{t: h.t.(*testing.T), frames: make(chan kibitz.Frame, 1000)}
	who := identity.Local(h.owner)
	g.visit = must(h.rooms.Enter(h.t.Context(), room.Entry{Room: id, Link: g, Actor: &who}))(h.t)
	h.t.Cleanup(g.visit.Gone)
	g.send(map[string]any{"t": "voice", "on": true, "name": "Alice"})
	g.id = next[*kibitz.Self](g).ID
	next[*kibitz.Live](g)
	return g
}

func (g *guest) send(frame map[string]any) {
	g.visit.Receive(must(json.Marshal(frame))(g.t))
}

// say says a line as the page does, and waits until the room has taken it.
func (g *guest) say(text string) {
	g.send(map[string]any{"t": "send", "n": 7, "c": map[string]any{"k": "chat", "text": text}})
	next[*kibitz.Ack](g)
}

// next is the next frame of a kind.
func next[F kibitz.Frame](g *guest) F {
	g.t.Helper()
	end := time.After(patience)
	for {
		select {
		case frame := <-g.frames:
			if f, ok := frame.(F); ok {
				return f
			}
		case <-end:
			g.t.Fatal("a frame never came")
		}
	}
}

func texts(t *testing.T, seen map[string]any) (said []string) {
	t.Helper()
	lines, _ := seen["chat"].([]any)
	for _, l := range lines {
		line, _ := l.(map[string]any)
		said = append(said, fmt.Sprintf("%v: %v", line["name"], line["text"]))
	}
	return said
}

// with adds the session a client without one of its own must name.
func with(session any, args map[string]any) map[string]any {
	if session != nil {
		args["session"] = session
	}
	return args
}

func TestAModelSitsInARoom(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	id := h.open("Card Table", gated)
	alice := h.enter(id)
	for _, revision := range bothKinds {
		s := h.connect("/mcp/room", revision, options{})
		fails(t, s, "observe", nil, "not joined")
		in := structured(t, s, "join", map[string]any{"room": "http://hub.example/r/" + id, "name": "Watcher", "readOnly": false, "backend": "Claude"})
		if diff := cmp.Diff([]string{"canAct", "grant", "readOnly", "room", "roster", "sealed", "self", "session"}, keys(in)); diff != "" {
			t.Error(diff)
		}
		if in["room"] != id || in["canAct"] != false || in["readOnly"] != false || in["sealed"] != false {
			t.Errorf("joined: %v", in)
		}
		var session any
		if revision == standalone {
			session = in["session"]
			fails(t, s, "observe", nil, "not joined")
		} else {
			fails(t, s, "join", map[string]any{"room": id}, "already joined "+id)
		}
		fails(t, s, "observe", map[string]any{"session": "foreign"}, "not joined")
		self, _ := in["self"].(string)
		alice.say("hello " + revision)
		seen := structured(t, s, "observe", with(session, map[string]any{"waitMs": 30000}))
		for len(texts(t, seen)) == 0 { // the roster may be news before the line is
			seen = structured(t, s, "observe", with(session, map[string]any{"waitMs": 30000}))
		}
		if diff := cmp.Diff([]string{"canAct", "chat", "data", "dropped", "grant", "roster", "schemas", "view", "viewFrom", "viewSeq"}, keys(seen)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"Alice: hello " + revision}, texts(t, seen)); diff != "" {
			t.Error(diff)
		}
		fails(t, s, "say", with(session, map[string]any{"text": "me too"}), "blocked: grant lacks send-chat")
		grant := kibitz.Grant{Perceive: []kibitz.Capability{kibitz.ReadChat, kibitz.ReadRoster}, Act: []kibitz.Capability{kibitz.SendChat}}
		must(h.rooms.SetGrant(t.Context(), h.me, id, self, &grant))(t)
		eventually(t, "the grant has come", func() bool {
			return structured(t, s, "observe", with(session, map[string]any{}))["canAct"] == true
		})
		said := structured(t, s, "say", with(session, map[string]any{"text": "me too"}))
		if said["sent"] != true || said["seq"] == nil {
			t.Errorf("said: %v", said)
		}
		var from *kibitz.From
		for from == nil || from.From != self {
			from = next[*kibitz.From](alice)
		}
		if kind, text := kibitz.OpenEnvelope(dataOf(t, from.C)); kind != kibitz.EnvelopeChat || string(text) != `"me too"` {
			t.Errorf("the room heard %s", from.C)
		}
		fails(t, s, "say", with(session, map[string]any{"text": "psst", "to": "nobody"}), "to.unknown")
		fails(t, s, "act", with(session, map[string]any{"action": map[string]any{"play": "7S"}}), "blocked: grant lacks act")
		// Own lines are no news, and nothing comes twice.
		alice.say("and again")
		var all []string
		eventually(t, "the next line is there", func() bool {
			all = append(all, texts(t, structured(t, s, "observe", with(session, map[string]any{})))...)
			return len(all) > 0
		})
		if diff := cmp.Diff([]string{"Alice: and again"}, all); diff != "" {
			t.Error(diff)
		}
		works(t, s, "leave", with(session, map[string]any{}), `{"left":true}`)
		works(t, s, "leave", with(session, map[string]any{}), `{"left":true}`)
		fails(t, s, "observe", with(session, map[string]any{}), "not joined")
		h.members(id, 1)
	}
}

func dataOf(t *testing.T, c kibitz.Raw) kibitz.Raw {
	t.Helper()
	var content struct {
		Data json.RawMessage `json:"data"`
	}
	check(t, json.Unmarshal(c, &content))
	return kibitz.Raw(content.Data)
}

// members waits until a room has so many.
func (h *house) members(id string, want int) {
	h.t.Helper()
	eventually(h.t, fmt.Sprintf("%d are in the room", want), func() bool {
		return len(must(h.rooms.Roster(context.Background(), h.me, id))(h.t).Members) == want
	})
}

func TestAModelWatchesOnlyUnlessItSaysOtherwise(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	id := h.open("quiet", gated)
	s := h.connect("/mcp", withSessions, options{})
	in := structured(t, s, "room_join", map[string]any{"room": "quiet"})
	grant := kibitz.FullGrant()
	self, _ := in["self"].(string)
	must(h.rooms.SetGrant(t.Context(), h.me, id, self, &grant))(t)
	if in["readOnly"] != true {
		t.Errorf("joined %v", in)
	}
	fails(t, s, "room_say", map[string]any{"text": "hi"}, "read-only")
	if seen := structured(t, s, "room_observe", nil); seen["canAct"] != false {
		t.Error("a model that watches only can act")
	}
}

func TestRoomsRefuseWithTheirCodes(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	h.open("closed", `{"humans":{"mode":"hub"},"agents":{"mode":"none"}}`)
	s := h.connect("/mcp/room", withSessions, options{})
	fails(t, s, "join", map[string]any{"room": "nowhere"}, "refused: room.unknown")
	fails(t, s, "join", map[string]any{"room": "!!!"}, "refused: room.bad-id")
	fails(t, s, "join", map[string]any{"room": "closed"}, "refused: gate.no-agents")
	fails(t, s, "join", map[string]any{"room": "closed", "transport": "webrtc"}, "refused: sig.off")
	fails(t, s, "join", map[string]any{}, "bad_args: ")
	fails(t, s, "say", map[string]any{"text": strings.Repeat("x", 2001)}, "bad_args: ")
	narrow := h.newToken("owner", "talk").Secret
	if _, err := h.dial("/mcp/room", withSessions, options{token: narrow}); err == nil {
		t.Error("a token without the scope was let in")
	}
}

// Whatever ends the client ends its presence: nobody watches unseen.
func TestAModelThatIsGoneHasLeftTheRoom(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	id := h.open("lounge", gated)
	join := func(o options, revision string) *sdk.ClientSession {
		s := h.connect("/mcp/room", revision, o)
		structured(t, s, "join", map[string]any{"room": id})
		h.members(id, 1)
		return s
	}
	t.Run("its session ends", func(t *testing.T) {
		check(t, join(options{}, withSessions).Close())
		h.members(id, 0)
	})
	for _, revision := range bothKinds {
		t.Run("its token is revoked, "+revision, func(t *testing.T) {
			token := h.newToken("owner", "rooms")
			join(options{token: token.Secret}, revision)
			check(t, h.people.Revoke(t.Context(), identity.Local(h.owner), token.ID))
			h.members(id, 0)
		})
	}
	t.Run("it does not look for long", func(t *testing.T) {
		idle := newHouse(t, facemcp.RoomOptions{Idle: 20 * time.Millisecond})
		room := idle.open("lounge", gated)
		s := idle.connect("/mcp/room", standalone, options{})
		in := structured(t, s, "join", map[string]any{"room": room})
		idle.members(room, 0)
		fails(t, s, "observe", map[string]any{"session": in["session"]}, "not joined")
	})
}

func TestTheEndOfInputLeavesTheRoom(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	id := h.open("porch", gated)
	for _, revision := range bothKinds {
		s, hangUp := h.overStdio("/mcp/room", revision, h.token, sdk.ClientOptions{})
		structured(t, s, "join", map[string]any{"room": id})
		h.members(id, 1)
		// A bridge is a session: its client need not name it.
		fails(t, s, "join", map[string]any{"room": id}, "already joined "+id)
		structured(t, s, "observe", nil)
		hangUp()
		h.members(id, 0)
	}
}

func TestAClosedRoomIsLeft(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	id := h.open("brief", gated)
	s := h.connect("/mcp/room", withSessions, options{})
	structured(t, s, "join", map[string]any{"room": id})
	check(t, h.rooms.Close(t.Context(), h.me, id))
	eventually(t, "the model is told", func() bool {
		text, failed := call(t, s, "observe", map[string]any{"waitMs": 1000})
		return failed && text == "not joined"
	})
	h.open("brief", gated)
	structured(t, s, "join", map[string]any{"room": "brief"})
}

// What waits for a model that does not look is bounded, and the loss is told.
func TestLinesThatNobodyReadsAreCounted(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	id := h.open("busy", gated)
	s := h.connect("/mcp/room", withSessions, options{})
	structured(t, s, "join", map[string]any{"room": id})
	alice := h.enter(id)
	for i := range 510 {
		alice.say(fmt.Sprint("line ", i))
	}
	var said []string
	dropped := 0.0
	eventually(t, "the last line is there", func() bool {
		seen := structured(t, s, "observe", map[string]any{"max": 200})
		n, _ := seen["dropped"].(float64)
		dropped += n
		said = append(said, texts(t, seen)...)
		return slices.Contains(said, "Alice: line 509")
	})
	if int(dropped)+len(said) != 510 || dropped == 0 {
		t.Errorf("%d read and %v dropped of 510", len(said), dropped)
	}
}

// A model is handed the link of a sealed room with its key, so the hub it sits on can
// read from then on. Everybody is told before it hears a word.
func TestASealedRoomIsToldBeforeTheHubCanReadIt(t *testing.T) {
	h := newHouse(t, facemcp.RoomOptions{})
	id := h.open("Vault", `{"humans":{"mode":"hub"},"agents":{"mode":"open"},"sealed":true}`)
	alice := h.enter(id)
	s := h.connect("/mcp/room", standalone, options{})
	structured(t, s, "join", map[string]any{"room": "http://hub.example/r/" + id})
	if r := next[*kibitz.Roster](alice); r.Sealed != kibitz.SealedNot {
		t.Errorf("a model without the key makes the roster say %q", r.Sealed)
	}
	secret := base64.RawURLEncoding.EncodeToString(make([]byte, kibitz.SecretSize))
	s = h.connect("/mcp/room", standalone, options{})
	structured(t, s, "join", map[string]any{"room": "http://hub.example/r/" + id + "#k=" + secret})
	var told *kibitz.Roster
	for told == nil || told.Sealed == kibitz.SealedNot {
		told = next[*kibitz.Roster](alice)
		if len(told.Members) > 2 && told.Sealed == kibitz.SealedNot {
			t.Fatal("the model with the key is in the room and nobody was told")
		}
	}
	if told.Sealed != kibitz.SealedShared || len(told.Members) != 2 {
		t.Errorf("the roster says %q with %d members; want %q before the model is among them", told.Sealed, len(told.Members), kibitz.SealedShared)
	}
	if page := must(h.rooms.Audit(t.Context(), h.me, id, room.AuditQuery{Kind: "shared"}))(t); len(page.Entries) != 1 {
		t.Errorf("the trail has %d entries about it, want one", len(page.Entries))
	}
	late := &guest{t: t, frames: make(chan kibitz.Frame, 1000)}
	who := identity.Local(h.owner)
	late.visit = must(h.rooms.Enter(t.Context(), room.Entry{Room: id, Link: late, Actor: &who}))(t)
	defer late.visit.Gone()
	if hello := next[*kibitz.Hello](late); hello.Sealed != kibitz.SealedShared {
		t.Errorf("hello says %q to whoever comes later", hello.Sealed)
	}
}
