package talk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	facetalk "parley.internal/internal/face/talk"
	wire "parley.internal/protocol/agentfirst"
)

// str is a string field, msgField a message field, as bytes: what a client
// written against the original protocol sends.
func str(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func body(n protowire.Number, inner []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), inner)
}

// fields are the numbers of a message's fields, and the bytes of the last of each.
func fields(t *testing.T, b []byte) map[protowire.Number][]byte {
	t.Helper()
	out := map[protowire.Number][]byte{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal("bad tag")
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			t.Fatal("bad value")
		}
		value := b[n : n+size]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		out[num] = value
		b = b[n+size:]
	}
	return out
}

// A client that knows nothing but the original wire talks as it always did, and
// never sees a variant it does not know or a second field of an envelope.
func TestAClientOfTheOriginalWireWorksUnchanged(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{InsecureOpen: true})
	for name, c := range map[string]client{"unix": h.dialUnix(), "tcp": h.dialTCP()} {
		t.Run(name, func(t *testing.T) {
			check(t, c.write(body(2, str(str(str(nil, 1, "crab"), 2, "/tool nothing {\"a\":1}\n/say done now"), 4, name))))
			var order []protowire.Number
			var text string
			for {
				payload := must(c.read())(t)
				envelope := fields(t, payload)
				if len(envelope) != 1 || envelope[4] == nil {
					t.Fatalf("an envelope with %v", envelope)
				}
				event := fields(t, envelope[4])
				if len(event) != 1 {
					t.Fatalf("an event with %d variants", len(event))
				}
				var kind protowire.Number
				for kind = range event {
					if kind >= 200 {
						t.Fatalf("variant %d", kind)
					}
				}
				if len(order) == 0 || order[len(order)-1] != kind {
					order = append(order, kind)
				}
				if kind == 2 {
					text += string(fields(t, event[2])[1])
				}
				if kind == 7 {
					if f := fields(t, event[7]); string(f[1]) != "crab" || f[2] != nil || string(f[3]) != "offline" || f[5] == nil {
						t.Errorf("end: %v", f)
					}
					break
				}
			}
			if text != "done now" {
				t.Errorf("text %q", text)
			}
			if diff := cmp.Diff([]protowire.Number{1, 4, 5, 6, 2, 7}, order); diff != "" {
				t.Errorf("order of events: %s", diff)
			}
			// Subscribing works too: the kinds are the original six.
			check(t, c.write(body(30, nil)))
			if f := fields(t, must(c.read())(t)); len(f) != 1 || f[2] == nil {
				t.Errorf("ping: %v", f)
			}
		})
	}
}

func TestAPlainClientsEventsAreTheOriginalOnes(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	watcher, c := h.dialUnix(), h.dialUnix()
	check(t, watcher.write(body(34, nil)))
	check(t, watcher.write(body(30, nil)))
	if f := fields(t, must(watcher.read())(t)); f[2] == nil {
		t.Fatalf("ping: %v", f)
	}
	send(t, c, stream("crab", "/say some words", func(m *wire.Turn) { m.Guest = new("twin") }))
	collect(t, c)
	text := ""
	for {
		m := receive(t, watcher)
		e := m.GetAgentEvent()
		if e == nil || e.GetKind() >= 200 || e.GetAgent() != "twin" || e.GetSender() != "user" || e.GetPrimary() != "crab" {
			t.Fatalf("got %v", m)
		}
		if e.GetKind() == wire.EventTextDelta {
			text += e.GetContent()
		}
		if e.GetKind() == wire.EventDone {
			break
		}
	}
	if text != "some words" {
		t.Errorf("text %q", text)
	}
}

// Two runs that a plain client starts at once come one after the other.
func TestTwoPlainStreamsDoNotMix(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialUnix()
	for _, sender := range []string{"a", "b", "c"} {
		send(t, c, stream("crab", "/say "+strings.Repeat(sender+" ", 500)+"\n/sleep 5\n/say end", func(m *wire.Turn) { m.Sender = new(sender) }))
	}
	// Control is answered in between, while the first streams.
	send(t, c, ping())
	pongs := 0
	for _, sender := range []string{"a", "b", "c"} {
		text := ""
		for {
			m := receive(t, c)
			if m.GetPong() != nil {
				pongs++
				continue
			}
			text += m.GetStream().GetChunk().GetContent()
			if m.GetStream().GetEnd() != nil {
				break
			}
		}
		if want := strings.Repeat(sender+" ", 500); !strings.HasPrefix(text, strings.TrimSpace(want)) || strings.Trim(text, sender+" \nend") != "" {
			t.Errorf("the stream of %s: %.80q", sender, text)
		}
	}
	if pongs != 1 {
		t.Errorf("%d pongs", pongs)
	}
}

// Runs with a request id go on side by side, and every frame says whose it is.
func TestRunsWithARequestIDAreConcurrent(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialUnix()
	hello(t, c, "")
	slow := stream("crab", "/say begun\n/sleep 600000", func(m *wire.Turn) { m.Sender = new("slow") })
	slow.RequestId = 7
	send(t, c, slow)
	for m := receive(t, c); m.GetStream().GetChunk() == nil; m = receive(t, c) {
		if m.GetRequestId() != 7 {
			t.Fatalf("got %v", m)
		}
	}
	quick := stream("crab", "/say quick", func(m *wire.Turn) { m.Sender = new("quick") })
	quick.RequestId = 8
	send(t, c, quick)
	for {
		m := receive(t, c)
		if m.GetStream() == nil || m.GetRequestId() != 8 && m.GetStream().GetEnd() != nil {
			t.Fatalf("got %v", m)
		}
		if m.GetStream().GetEnd() != nil {
			break
		}
	}
	cancel := &wire.ClientMessage{RequestId: 9, Message: &wire.ClientMessage_Cancel{Cancel: &wire.Cancel{Agent: "crab", Sender: "slow"}}}
	send(t, c, cancel)
	var ended, done bool
	for !ended || !done {
		m := receive(t, c)
		switch m.GetRequestId() {
		case 7:
			if e := m.GetStream().GetEnd(); e != nil {
				ended = e.GetStop() == wire.StopCancelled && e.GetError() == "cancelled"
				if !ended {
					t.Fatalf("end: %v", e)
				}
			}
		case 9:
			done = m.GetPong() != nil
		default:
			t.Fatalf("got %v", m)
		}
	}
}

// The queue is shown to those who know the event, also for send.
func TestAWaitingSendIsToldItsPlace(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c, other := h.dialUnix(), h.dialUnix()
	hello(t, c, "")
	send(t, other, stream("crab", "/say begun\n/sleep 600000"))
	for receive(t, other).GetStream().GetChunk() == nil {
	}
	m := sendTurn("crab", "/say mine")
	m.RequestId = 3
	send(t, c, m)
	if q := receive(t, c); q.GetStream().GetQueued().GetPosition() != 1 || q.GetRequestId() != 3 {
		t.Fatalf("got %v", q)
	}
	// What it waited for ends, and whichever is sooner: the answer to that, or its own.
	send(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_Cancel{Cancel: &wire.Cancel{Agent: "crab"}}})
	pong, answer := receive(t, c), receive(t, c)
	if answer.GetPong() != nil {
		pong, answer = answer, pong
	}
	if pong.GetPong() == nil || answer.GetResponse().GetContent() != "mine" || answer.GetRequestId() != 3 {
		t.Fatalf("got %v and %v", pong, answer)
	}
}

// One turn gives the same events whatever way the client came.
func TestOneTurnSameEventsOnAllFaces(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	got := map[string]string{}
	for name, c := range map[string]client{"unix": h.dialUnix(), "tcp": h.dialTCP(), "ws": h.mustWS(bearer(h.token)), "ws hello": h.mustWS(nil)} {
		if m := hello(t, c, h.token); m.GetHello().GetSender() != "user" {
			t.Fatalf("%s: %v; want m.GetHello().GetSender() to be \"user\"", name, m)
		}
		send(t, c, stream("crab", "/say one two\n/tool nothing {}\n/say three", func(m *wire.Turn) { m.Thread = name }))
		_, events := collect(t, c)
		for _, e := range joined(events) {
			got[name] += normal(t, e) + "\n"
		}
	}
	for name := range got {
		if diff := cmp.Diff(got["unix"], got[name]); diff != "" {
			t.Errorf("%s: %s; want no difference", name, diff)
		}
	}
}

func TestUnknownVariantsAreNamed(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialUnix()
	for _, n := range []protowire.Number{13_000, 57, 100, 210, 249} {
		check(t, c.write(body(n, nil)))
		wantCode(t, receive(t, c), wire.CodeBadRequest, fmt.Sprint(n))
	}
	check(t, c.write(nil))
	wantCode(t, receive(t, c), wire.CodeBadRequest, "empty")
	// An addition needs hello, whoever asks.
	wantCode(t, ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListArchives{ListArchives: &wire.ListArchives{Agent: "crab"}}}), wire.CodeBadRequest, "hello")
}

// Frames may come in any pieces and any number at once.
func TestByteByByteAndPipelined(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c := h.dialUnix()
	frame := must(wire.AppendFrame(nil, sendTurn("crab", "/say slowly")))(t)
	for i := range frame {
		must(c.Write(frame[i : i+1]))(t)
	}
	if m := receive(t, c); m.GetResponse().GetContent() != "slowly" {
		t.Fatalf("got %v", m)
	}
	var all []byte
	for i := range 50 {
		m := ping()
		m.RequestId = uint64(i + 1)
		all = must(wire.AppendFrame(all, m))(t)
	}
	must(c.Write(all))(t)
	for i := range 50 {
		if m := receive(t, c); m.GetPong() == nil || m.GetRequestId() != uint64(i+1) {
			t.Fatalf("got %v", m)
		}
	}
}

// A device that attaches in the middle of a run ends with the same text.
func TestAttachedDevicesSeeTheSameText(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c, device := h.dialUnix(), h.mustWS(bearer(h.token))
	hello(t, c, "")
	hello(t, device, "")
	send(t, c, stream("crab", "/say before\n/sleep 50\n/say after"))
	for receive(t, c).GetStream().GetChunk() == nil {
	}
	send(t, device, &wire.ClientMessage{RequestId: 4, Message: &wire.ClientMessage_Attach{Attach: &wire.Attach{Agent: "crab", History: 10}}})
	text, caught, user := "", false, ""
	for {
		e := receive(t, device).GetConversationEvent()
		if e == nil || e.GetAgent() != "crab" || e.GetSender() != "user" {
			t.Fatalf("got %v", e)
		}
		caught = caught || e.GetCaughtUp()
		user += e.GetMessage().GetContent()
		text += e.GetStream().GetChunk().GetContent()
		if e.GetStream().GetEnd() != nil {
			break
		}
	}
	if text != "before\nafter" || !caught || !strings.HasPrefix(user, "/say before") {
		t.Errorf("text %q, caught up %v, user %q", text, caught, user)
	}
	if m := ask(t, device, &wire.ClientMessage{Message: &wire.ClientMessage_Detach{Detach: &wire.Detach{Agent: "crab"}}}); m.GetPong() == nil {
		t.Errorf("got %v", m)
	}
	// The same text is in the history, byte for byte.
	list := ask(t, device, &wire.ClientMessage{Message: &wire.ClientMessage_ListConversations{ListConversations: &wire.ListConversations{}}})
	path := list.GetConversationList().GetConversations()[0].GetFilePath()
	history := ask(t, device, &wire.ClientMessage{Message: &wire.ClientMessage_GetConversationHistory{GetConversationHistory: &wire.GetConversationHistory{FilePath: path}}})
	messages := history.GetConversationHistory().GetMessages()
	if len(messages) != 2 || messages[1].GetContent() != text {
		t.Errorf("history: %v", messages)
	}
}

// A title that a person gives reaches every attached device at once.
func TestANewTitleReachesAttachedDevices(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	c, device := h.dialUnix(), h.mustWS(bearer(h.token))
	hello(t, c, "")
	hello(t, device, "")
	send(t, c, stream("crab", "/say hi"))
	for receive(t, c).GetStream().GetEnd() == nil {
	}
	send(t, device, &wire.ClientMessage{RequestId: 4, Message: &wire.ClientMessage_Attach{Attach: &wire.Attach{Agent: "crab"}}})
	for !receive(t, device).GetConversationEvent().GetCaughtUp() {
	}
	list := ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_ListConversations{ListConversations: &wire.ListConversations{}}})
	path := list.GetConversationList().GetConversations()[0].GetFilePath()
	if m := ask(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_SetTitle{SetTitle: &wire.SetTitle{FilePath: path, Title: "Prices"}}}); m.GetPong() == nil {
		t.Fatalf("got %v", m)
	}
	m := receive(t, device)
	if n := m.GetConversationEvent().GetStream().GetNotice(); n.GetCode() != wire.NoticeTitled || n.GetText() != "Prices" || m.GetRequestId() != 4 {
		t.Errorf("got %v", m)
	}
}

// Whatever bytes a client sends, the hub answers the next one.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{})
	f.Add(must(proto.Marshal(ping()))(f))
	f.Add(body(7, str(nil, 1, "crab")))
	path := newHub(f, facetalk.Limits{}, facetalk.TCPOptions{}).socket()
	f.Fuzz(func(t *testing.T, payload []byte) {
		c := dial(t, "unix", path)
		if c.write(payload) == nil && c.write(body(30, nil)) == nil {
			_, _ = c.read() // an answer, or the end of this one connection
		}
		if m := ask(t, dial(t, "unix", path), ping()); m.GetPong() == nil {
			t.Fatalf("got %v", m)
		}
	})
}
