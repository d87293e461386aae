package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	talkwire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/hubtest"
)

// stranger reaches the NATS servers and nothing else: no token, no database. They hear
// everything and can send anything.
type stranger struct {
	t  *testing.T
	nc *nats.Conn

	mu    sync.Mutex
	heard []*nats.Msg
}

const strangersInbox = "stranger.inbox"

func newStranger(t *testing.T, c *cluster) *stranger {
	t.Helper()
	nc, err := nats.Connect(c.urls())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s := &stranger{t: t, nc: nc}
	if _, err := nc.Subscribe(">", func(m *nats.Msg) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard = append(s.heard, m)
	}); err != nil {
		t.Fatal(err)
	}
	s.flush()
	return s
}

func (s *stranger) flush() {
	s.t.Helper()
	if err := s.nc.FlushTimeout(hubtest.Patience); err != nil {
		s.t.Fatal(err)
	}
}

// recorded is everything heard so far whose subject ends so.
func (s *stranger) recorded(end string) (list []*nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.heard {
		if strings.HasSuffix(m.Subject, end) {
			list = append(list, m)
		}
	}
	return list
}

// places are where hubs listen for questions about a kind of things, as far as the
// stranger has heard.
func (s *stranger) places(kind string) map[string]bool {
	found := map[string]bool{}
	for _, m := range s.recorded("") {
		if at := strings.Index(m.Subject, "owner."+kind+"."); at >= 0 {
			found[m.Subject[at:]] = true
		}
	}
	return found
}

// send sends to where hubs once listened and to where they listen now.
func (s *stranger) send(end string, data any) {
	s.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		s.t.Fatal(err)
	}
	if words, plain := data.(string); plain {
		text = []byte(words)
	}
	subjects := map[string]bool{end: true}
	for _, m := range s.recorded("." + end) {
		subjects[m.Subject] = true
	}
	for subject := range subjects {
		if err := s.nc.PublishRequest(subject, strangersInbox, text); err != nil {
			s.t.Fatal(err)
		}
	}
	s.flush()
}

// playAgain sends everything once more that was heard on a subject.
func (s *stranger) playAgain(end string) {
	s.t.Helper()
	list := s.recorded(end)
	if len(list) == 0 {
		s.t.Fatalf("nothing was recorded on …%s", end)
	}
	for _, m := range list {
		if err := s.nc.PublishRequest(m.Subject, strangersInbox, m.Data); err != nil {
			s.t.Fatal(err)
		}
	}
	s.flush()
}

// gotNothing wants that nobody has answered, and that hubs say nothing in the clear.
func (s *stranger) gotNothing(secrets ...string) {
	s.t.Helper()
	s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.heard {
		if m.Subject == strangersInbox && len(m.Data) > 0 {
			s.t.Errorf("the stranger was answered: %s", m.Data)
		}
		if m.Reply != strangersInbox && m.Subject != strangersInbox && !strings.HasPrefix(m.Subject, "parley.") {
			s.t.Errorf("a hub spoke on %s, where messages are not sealed: %s", m.Subject, m.Data)
		}
		for _, word := range secrets {
			if bytes.Contains(m.Data, []byte(word)) && m.Reply != strangersInbox {
				s.t.Errorf("%q can be read on %s", word, m.Subject)
			}
		}
	}
}

var (
	refused  = regexp.MustCompile(`parley_bus_refused_total\{reason="unsealed"\} [1-9]`)
	replayed = regexp.MustCompile(`parley_bus_refused_total\{reason="replayed"\} [1-9]`)
)

// A request on machine.ID.call ran a command on the machine without token, log or trail.
func TestWhoeverReachesNATSRunsNothingOnAMachine(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	a, b := c.hubs[0], c.hubs[1]
	them := newStranger(t, c)
	m := hubtest.Enrol(t, a, "pc1", func(_ context.Context, r *kenny.Request) (jsontext.Value, error) { return r.Args, nil })
	m.Connect(t, a)
	list := func(path string) error {
		_, err := hubapi.Call(t.Context(), b.Client().Patient(), rest.CallMachine, rest.MachineCall{ID: "pc1", Body: rest.Call{Tool: "fs_list", Args: []byte(`{"path":"` + path + `"}`)}})
		return err
	}
	tries := 0
	hubtest.Eventually(t, "the other hub reaches the machine", func() bool {
		tries++
		return list(fmt.Sprint("/before/", tries)) == nil
	})
	hubtest.Eventually(t, "the stranger heard the call", func() bool { return len(them.places("machine")) > 0 })
	them.send("machine.pc1.call", map[string]any{"id": "forged", "tool": "fs_list", "args": map[string]string{"path": "/forged"}, "timeout_us": 5_000_000})
	for place := range them.places("machine") {
		them.send(place, `{"op":"ask","from":"x","ask":"1","thing":"pc1"}`+"\n"+`{"id":"forged","tool":"fs_list","args":{"path":"/forged"},"timeout":5000000000}`)
		them.playAgain(place)
	}
	if err := list("/after"); err != nil {
		t.Fatal(err)
	}
	// Every try has a path of its own: what was played again would be there twice.
	asked := map[string]int{}
	for len(m.Asked) > 0 {
		r := <-m.Asked
		asked[string(r.Args)]++
	}
	for args, times := range asked {
		if times > 1 || strings.Contains(args, "forged") {
			t.Errorf("the machine was asked %d times for %s; want what the hub asked for, once", times, args)
		}
	}
	if asked[`{"path":"/after"}`] != 1 {
		t.Errorf("the machine was asked for %v; want /after among it", asked)
	}
	them.gotNothing("/before", "/after")
	hubtest.Eventually(t, "the refusals are counted", func() bool {
		metrics := string(a.Do("GET", "/metrics", "").Body)
		// How often is up to the stranger, who also hears and plays again what it sent itself.
		return refused.MatchString(metrics) && replayed.MatchString(metrics)
	})
	if !strings.Contains(a.Output.String(), "a message was refused") {
		t.Error("the hub's log does not mention it")
	}
}

// Typing into a terminal worked too, and a who with an admin field in it was believed.
func TestWhoeverReachesNATSNeitherSeesNorUsesATerminal(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	them := newStranger(t, c)
	here, there := board(t, c.hubs[0], c.hubs[0].Owner), board(t, c.hubs[1], c.hubs[1].Owner)
	made, err := here.OpenTerminal(t.Context(), &wire.TerminalCreate{Command: "stty -echo; echo ready; while read x; do echo \"got $x\"; done; exit 5"})
	if err != nil {
		t.Fatal(err)
	}
	hubtest.Eventually(t, "the other hub lists it", func() bool {
		list, err := there.Terminals(t.Context())
		return err == nil && len(list) == 1
	})
	far, err := there.Attach(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	about, admin := fmt.Sprintf(`{"op":"ask","from":"x","ask":"1","thing":%q}`+"\n", made.ID), `{"person":{"kind":"person","id":"stranger"},"scopes":["admin"]}`
	var text string
	played := false
	ctx, cancel := context.WithTimeout(t.Context(), hubtest.Patience/3)
	defer cancel()
	for m, err := range far.Events(ctx) {
		if err != nil {
			t.Errorf("after %q: %v", text, err) // a stranger who is heard takes frames away
			break
		}
		p, ok := m.Body.(*wire.TerminalOutput)
		if !ok {
			continue
		}
		text += p.Data
		switch {
		case strings.HasSuffix(text, "ready\r\n"):
			for place := range them.places("terminal") {
				them.send(place, about+`{"op":"input","data":"c3RvbGVuCg==","who":`+admin+`}`)
				them.send(place, about+`{"op":"read","who":`+admin+`}`)
				them.send(place, `{"op":"ask","from":"x","ask":"2"}`+"\n"+`{"op":"list","who":`+admin+`}`)
			}
			err = far.Input(t.Context(), "hello\n")
		case strings.HasSuffix(text, "got hello\r\n") && !played:
			played = true
			for place := range them.places("terminal") {
				them.playAgain(place)
			}
			err = far.Input(t.Context(), "\x04")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if text != "ready\r\ngot hello\r\n" {
		t.Errorf("the terminal shows %q; want what its owner typed, once", text)
	}
	them.gotNothing("hello", "ready")
}

// Conversations could be read along.
func TestWhoeverReachesNATSReadsNoConversation(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	them := newStranger(t, c)
	for i, h := range c.hubs { // the second turn goes to the hub that has the conversation
		talk, err := agentfirst.Dial(t.Context(), strings.Replace(h.URL, "http", "ws", 1)+"/talk/ws", agentfirst.Options{Token: h.Owner})
		if err != nil {
			t.Fatal(err)
		}
		defer talk.Close()
		answer := ""
		for event, err := range talk.Stream(t.Context(), &talkwire.Turn{Agent: "parley", Content: "/say the melon harbour"}) {
			if err != nil {
				t.Fatalf("on hub %d: %v", i, err)
			}
			answer += event.GetChunk().GetContent()
		}
		if !strings.Contains(answer, "melon harbour") {
			t.Fatalf("hub %d answered %q", i, answer)
		}
	}
	hubtest.Eventually(t, "hubs talk about the conversation", func() bool { return len(them.places("talk")) > 0 })
	them.gotNothing("melon", "harbour")
}
