package transcripts_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	"parley.internal/client/mmpagent"
	"parley.internal/client/roomagent"
	talk "parley.internal/protocol/agentfirst"
	tunnel "parley.internal/protocol/kenny"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// must ends the test for whoever has nothing without the value.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestConversations(t *testing.T) {
	p := newTap(t)
	p.text = func(from string, frame []byte) string {
		var m proto.Message = &talk.ServerMessage{}
		if from == "client" {
			m = &talk.ClientMessage{}
		}
		if err := proto.Unmarshal(frame, m); err != nil {
			return err.Error()
		}
		return protojson.MarshalOptions{UseProtoNames: true}.Format(m)
	}
	c := must(agentfirst.Dial(t.Context(), "ws"+strings.TrimPrefix(p.URL, "http")+"/talk/ws", agentfirst.Options{Token: p.hub.Owner}))(t)
	must(c.Send(t.Context(), &talk.Turn{Agent: "parley", Content: "/say Good morning."}))(t)
	for _, err := range c.Stream(t.Context(), &talk.Turn{Agent: "parley", Content: "/say And again."}) {
		must(0, err)(t)
	}
	list := must(c.ListConversations(t.Context(), "parley", ""))(t)
	if len(list) != 1 {
		t.Fatalf("there are %d conversations, want one", len(list))
	}
	_, err := c.GetAgent(t.Context(), "nobody")
	if err == nil {
		t.Error("an agent nobody made is there")
	}
	must(0, c.Close())(t)
	p.told(t, "conversations", "A turn answered at once, a turn that streams, the list, and an agent that is not there.\nFrames are protobuf; here they are shown as JSON.")
}

func TestMachines(t *testing.T) {
	p := newTap(t)
	machine := hubtest.Enrol(t, p.hub, "studio", func(context.Context, *tunnel.Request) (jsontext.Value, error) {
		return jsontext.Value(`{"entries":[]}`), nil
	})
	_, stop := machine.Client(t, &hubtest.Hub{URL: p.URL})
	must(hubapi.Call(t.Context(), p.hub.Client().Patient(), rest.CallMachine, rest.MachineCall{ID: "studio", Body: rest.Call{Tool: "fs_list", Args: jsontext.Value(`{"path":"/tmp"}`)}}))(t)
	stop()
	p.told(t, "machines", "A machine proves its key, the hub proves its own, and one call is answered.")
}

func TestMeetingPlace(t *testing.T) {
	p := newTap(t)
	hubtest.Eventually(t, "the hub's own agent is there", func() bool {
		return strings.Contains(string(p.hub.Do("GET", "/place/v1/info", "").Body), `"agents_count":1,`)
	})
	p.forget()
	come := func(id string) *mmpagent.Agent {
		a := must(mmpagent.Open(p.URL, mmpagent.Options{ID: id, Keys: must(mmpagent.NewKeys())(t)}))(t)
		must(a.Register(t.Context()))(t)
		must(0, a.PublishKey(t.Context()))(t)
		return a
	}
	ann, bob := come("ann"), come("bob")
	must(ann.Send(t.Context(), "bob", "note", map[string]string{"text": "Good morning"}))(t)
	got := must(bob.Receive(t.Context(), mmpagent.ReceiveOptions{Manual: true}))(t)
	if len(got) != 1 {
		t.Fatalf("bob has %d messages, want one", len(got))
	}
	must(bob.Ack(t.Context(), got[0].ID))(t)
	must(bob.Post(t.Context(), mmpagent.Posting{Type: board.PostOffer, Skill: "Tea", Summary: "How to brew it"}))(t)
	must(ann.Browse(t.Context(), board.BrowseQuery{Type: board.PostOffer}))(t)
	must(bob.Unregister(t.Context()))(t)
	must(0, ann.Close())(t)
	p.told(t, "place", "Two agents come to the place and prove their keys; one sends the other a sealed message, which is fetched and\nacknowledged; one posts, the other reads the board; one leaves.")
}

func TestRooms(t *testing.T) {
	p := newTap(t)
	if a := p.hub.Do("POST", "/api/rooms", `{"room":"table","title":"The round table"}`); a.Status >= 300 {
		t.Fatalf("the room: %d %s", a.Status, a.Body)
	}
	host := must(roomagent.Dial(t.Context(), p.URL+"/r/table", roomagent.DialOptions{Name: "Ann", Token: p.hub.Owner, Person: true}))(t)
	p.seen(`"kind":"joined"`)
	must(host.Chat(t.Context(), "Welcome.", ""))(t)
	if err := host.Grants(t.Context(), "nobody", &kibitz.Grant{}); err == nil {
		t.Error("somebody who is not there was given rights")
	}
	must(0, host.Leave())(t)
	<-host.Done()
	p.told(t, "rooms", "The owner comes in, says something, grants rights to nobody, and leaves.")
}
