package kenny

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	wire "parley.internal/protocol/kenny"
)

// bubble runs a test in fake time with a client on a fake hub. The channels a
// handler uses must be made by setup: those from outside stop the clock.
func bubble(t *testing.T, setup func() Config, f func(t *testing.T, c *Client, hub *fakeHub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := setup()
		hub := newFakeHub()
		cfg.Dial = hub.dial
		c := newClient(t, cfg)
		c.random = func() float64 { return 0 }
		stop := start(t, c)
		f(t, c, hub)
		stop()
	})
}

// with sets a client up with a handler and nothing else.
func with(h Handler) func() Config { return func() Config { return config(h) } }

func request(id, tool string) *wire.Request {
	return &wire.Request{ID: id, Tool: tool, Args: jsontext.Value("{}")}
}

func TestRequestIsServedAfterTheHandshake(t *testing.T) {
	var order []string
	h := tools{
		policy: func(r []wire.Rule) { order = append(order, fmt.Sprint("policy ", len(r))) },
		call: func(_ context.Context, r *wire.Request) (jsontext.Value, error) {
			order = append(order, r.Tool)
			return jsontext.Value(`{"x":1}`), nil
		},
	}
	bubble(t, with(h), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		conn.say(t, &wire.Policy{Rules: []wire.Rule{{ID: "a", AppliesTo: wire.AppliesPath}}})
		conn.say(t, request("1", "net_config"))
		resp, ok := conn.hear(t).(*wire.Response)
		if !ok || resp.ID != "1" || !resp.OK || string(resp.Result) != `{"x":1}` {
			t.Errorf("%+v; want ok, resp.ID to be \"1\", resp.OK, string(resp.Result) to be \"{\"x\":1}\"", resp)
		}
		if got := strings.Join(order, ", "); got != "policy 0, policy 1, net_config" {
			t.Errorf("got is %v; want \"policy 0, policy 1, net_config\"", got)
		}
	})
}

func TestHeartbeatEvery30SecondsAndAnswerToPing(t *testing.T) {
	bubble(t, with(tools{}), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		began := time.Now()
		for i := range 3 {
			if _, ok := conn.hear(t).(*wire.Ping); !ok {
				t.Fatal("no ping")
			}
			if at, want := time.Since(began), time.Duration(i+1)*30*time.Second; at != want {
				t.Errorf("ping after %v, want %v", at, want)
			}
			conn.say(t, &wire.Pong{})
		}
		conn.say(t, &wire.Ping{})
		if _, ok := conn.hear(t).(*wire.Pong); !ok {
			t.Error("no pong")
		}
	})
}

func TestSilentHubIsLeftAfter90Seconds(t *testing.T) {
	var ended chan error
	setup := func() Config {
		ended = make(chan error, 4)
		cfg := config(tools{})
		cfg.OnDisconnect = func(err error) { ended <- err }
		return cfg
	}
	bubble(t, setup, func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		began := time.Now()
		go func() {
			for {
				select {
				case <-conn.toHub:
				case <-conn.over:
					return
				}
			}
		}()
		err := <-ended
		if !errors.Is(err, ErrSilent) || time.Since(began) != 90*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		hub.open(t)
	})
}

func TestSlowToolDelaysNeitherHeartbeatNorOtherCalls(t *testing.T) {
	h := tools{call: func(ctx context.Context, r *wire.Request) (jsontext.Value, error) {
		if r.Tool == "slow" {
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
		}
		return nil, nil
	}}
	bubble(t, with(h), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		conn.say(t, request("1", "slow"))
		conn.say(t, request("2", "quick"))
		if r, ok := conn.hear(t).(*wire.Response); !ok || r.ID != "2" {
			t.Errorf("%+v; want ok, r.ID to be \"2\"", r)
		}
		if _, ok := conn.hear(t).(*wire.Ping); !ok {
			t.Error("no heartbeat beside a slow tool")
		}
	})
}

func TestFailuresBecomeProtocolErrors(t *testing.T) {
	big := jsontext.Value(`{"x":"` + strings.Repeat("y", wire.MaxResponse) + `"}`)
	h := tools{call: func(_ context.Context, r *wire.Request) (jsontext.Value, error) {
		switch r.Tool {
		case "panic":
			panic("boom: secret detail")
		case "wire":
			return nil, fmt.Errorf("wrapped: %w", &wire.Error{Code: wire.CodeNotFound, Message: "no such file"})
		case "plain":
			return nil, errors.New("secret detail")
		case "big":
			return big, nil
		case "list":
			return jsontext.Value("[]"), nil
		}
		return nil, nil
	}}
	bubble(t, with(h), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		for _, w := range []struct {
			tool string
			code wire.Code
			text string
		}{
			{"panic", wire.CodeInternal, "unexpectedly"},
			{"wire", wire.CodeNotFound, "no such file"},
			{"plain", wire.CodeInternal, "log says why"},
			{"big", wire.CodeExecFailed, fmt.Sprint(len(big))},
			{"list", wire.CodeInternal, "cannot be sent"},
		} {
			conn.say(t, request("1", w.tool))
			r, _ := conn.hear(t).(*wire.Response)
			if r == nil || r.Error == nil || r.Error.Code != w.code || !strings.Contains(r.Error.Message, w.text) || strings.Contains(r.Error.Message, "secret") {
				t.Errorf("%s: %+v", w.tool, r)
			}
		}
		conn.say(t, request("2", "nil"))
		if r, _ := conn.hear(t).(*wire.Response); r == nil || !r.OK || r.Result != nil {
			t.Errorf("%+v; want r not to be nil, r.OK, r.Result to be nil", r)
		}
	})
}

func TestBadMessagesAreDroppedAndTheSessionLives(t *testing.T) {
	bubble(t, with(tools{}), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		for _, m := range []Message{
			{Data: []byte("junk")},
			{Data: []byte(`{"type":"resume"}`)},
			{Data: []byte(`{"type":"request","id":"1"}`)},
			{Data: encode(t, request("1", "x")), Binary: true},
			{Data: make([]byte, wire.MaxRequest+1)},
			{Data: []byte(`{"type":"response","id":"1","ok":true}`)},
		} {
			conn.toMachine <- m
		}
		conn.say(t, request("9", "fine"))
		if r, _ := conn.hear(t).(*wire.Response); r == nil || r.ID != "9" {
			t.Errorf("%+v; want r not to be nil, r.ID to be \"9\"", r)
		}
	})
}

func TestPushesNeedAnAcceptedSessionAndRoom(t *testing.T) {
	snapshot := map[string]jsontext.Value{"disk": jsontext.Value(`{"status":"ok","summary":"s"}`)}
	bubble(t, with(tools{}), func(t *testing.T, c *Client, hub *fakeHub) {
		if err := c.PushTelemetry(time.Now(), snapshot); !errors.Is(err, ErrNotConnected) {
			t.Error(err)
		}
		conn := <-hub.dials
		conn.welcome(t)
		synctest.Wait()
		if c.Connected() || c.Free() != 0 || !errors.Is(c.PushLog(Record{Level: wire.LevelInfo}), ErrNotConnected) {
			t.Error("pushes are possible before the hub accepted the machine")
		}
		conn.say(t, &wire.Policy{})
		synctest.Wait()
		if !c.Connected() || c.Free() != wire.QueueFrames {
			t.Error("not connected after the policy")
		}
		if err := c.PushTelemetry(time.Now(), map[string]jsontext.Value{"Disk": nil}); err == nil {
			t.Error("an invalid snapshot was queued")
		}
		if err := c.PushTelemetry(time.Now(), snapshot); err != nil {
			t.Fatal(err)
		}
		if err := c.PushLog(Record{At: time.Now(), Level: wire.LevelWarn, Target: "x", Message: "m", Fields: map[string]any{"n": 1}}); err != nil {
			t.Fatal(err)
		}
		if f, ok := conn.hear(t).(*wire.Telemetry); !ok || f.AgentID != "studio-3" {
			t.Errorf("%+v; want ok, f.AgentID to be \"studio-3\"", f)
		}
		if f, ok := conn.hear(t).(*wire.Log); !ok || string(f.Fields) != `{"n":1}` {
			t.Errorf("%+v; want ok, string(f.Fields) to be \"{\"n\":1}\"", f)
		}
		pushed := 0
		for ; c.PushLog(Record{At: time.Now(), Level: wire.LevelInfo}) == nil; pushed++ {
			synctest.Wait()
		}
		// One frame is in the writer's hands, the rest fill the queue.
		if pushed != wire.QueueFrames+1 || !errors.Is(c.PushLog(Record{At: time.Now(), Level: wire.LevelInfo}), ErrQueueFull) {
			t.Errorf("%d frames queued", pushed)
		}
	})
}

func TestHubThatSaysNothingCountsAsAcceptingAfterAWhile(t *testing.T) {
	bubble(t, with(tools{}), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := <-hub.dials
		conn.welcome(t)
		<-time.After(wire.HandshakeWait - time.Nanosecond)
		synctest.Wait()
		if c.Connected() {
			t.Error("too early")
		}
		<-time.After(time.Nanosecond)
		synctest.Wait()
		if !c.Connected() {
			t.Error("too late")
		}
	})
}

func TestTooManyCallsAreRefused(t *testing.T) {
	h := tools{call: func(ctx context.Context, _ *wire.Request) (jsontext.Value, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	bubble(t, with(h), func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		for i := range maxCalls {
			conn.say(t, request(fmt.Sprint(i), "wait"))
		}
		synctest.Wait()
		conn.say(t, request("more", "wait"))
		if r, _ := conn.hear(t).(*wire.Response); r == nil || r.ID != "more" || r.Error == nil || r.Error.Code != wire.CodeExecFailed {
			t.Errorf("%+v; want r not to be nil, r.ID to be \"more\", r.Error not to be nil, r.Error.Code to be %v", r, wire.CodeExecFailed)
		}
	})
}

func TestCallOutlivesItsConnectionAndItsAnswerIsDropped(t *testing.T) {
	var finished chan struct{}
	h := tools{call: func(ctx context.Context, r *wire.Request) (jsontext.Value, error) {
		if r.Tool != "long" {
			return nil, nil
		}
		select {
		case <-time.After(5 * time.Second):
			close(finished)
		case <-ctx.Done():
		}
		return nil, nil
	}}
	setup := func() Config {
		finished = make(chan struct{})
		return config(h)
	}
	bubble(t, setup, func(t *testing.T, c *Client, hub *fakeHub) {
		conn := hub.open(t)
		conn.say(t, request("1", "long"))
		synctest.Wait()
		conn.hangUp(wire.CloseNormal)
		next := hub.open(t)
		<-finished
		synctest.Wait()
		next.say(t, request("2", "probe"))
		if r, _ := next.hear(t).(*wire.Response); r == nil || r.ID != "2" {
			t.Errorf("an answer reached the wrong connection: %+v", r)
		}
	})
}

func TestStoppingSaysGoodbyeAndEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := make(chan error, 1)
		h := tools{call: func(ctx context.Context, _ *wire.Request) (jsontext.Value, error) {
			<-ctx.Done()
			called <- ctx.Err()
			return nil, ctx.Err()
		}}
		hub := newFakeHub()
		cfg := config(h)
		cfg.Dial = hub.dial
		c := newClient(t, cfg)
		stop := start(t, c)
		conn := hub.open(t)
		conn.say(t, request("1", "wait"))
		synctest.Wait()
		stop()
		if conn.goodbye != wire.CloseGoingAway || <-called == nil || c.Connected() {
			t.Errorf("goodbye %d", conn.goodbye)
		}
	})
}

// TestFailedWriteDoesNotHideTheCloseCode: the hub closed 4409 while a frame
// was under way, and the machine took it for ordinary trouble and came back at
// once.
func TestFailedWriteDoesNotHideTheCloseCode(t *testing.T) {
	bubble(t, with(tools{}), func(t *testing.T, c *Client, hub *fakeHub) {
		for range 50 {
			conn := hub.open(t)
			synctest.Wait()
			if err := c.PushLog(Record{At: time.Now(), Level: wire.LevelInfo}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the writer waits for the hub to read
			conn.hangUp(wire.CloseReplaced)
			began := time.Now()
			next := <-hub.dials
			if wait := time.Since(began); wait != 60*time.Second {
				t.Fatalf("back after %v", wait)
			}
			next.hangUp(wire.CloseNormal)
		}
	})
}

// An endpoint knew one address, and waited for that hub for up to a minute while others of
// its cluster were there.
func TestTheNextAddressIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, hub := config(tools{}), newFakeHub()
		cfg.Others = []string{"https://b.example.org", "https://c.example.org"}
		var dialled []string
		alive := "wss://c.example.org/agent/ws"
		cfg.Dial = func(ctx context.Context, url string) (Conn, error) {
			dialled = append(dialled, url)
			if url != alive {
				return nil, errors.New("nobody there")
			}
			return hub.dial(ctx, url)
		}
		c := newClient(t, cfg)
		defer start(t, c)()
		began := time.Now()
		conn := hub.open(t)
		if took := time.Since(began); took != 0 || len(dialled) != 3 || dialled[2] != alive {
			t.Errorf("connected after %v by way of %v, want the third address at once", took, dialled)
		}
		<-time.After(time.Second)
		// Its hub stops, and the first one is there again.
		alive = dialled[0]
		conn.hangUp(wire.CloseRestart)
		began = time.Now()
		conn = hub.open(t)
		if took := time.Since(began); took != 0 || len(dialled) != 4 {
			t.Errorf("after the hub stopped: connected after %v by way of %v, want the first address at once", took, dialled[3:])
		}
		// With nobody there each is tried once before there is a pause.
		alive = ""
		<-time.After(time.Second)
		conn.hangUp(0)
		synctest.Wait()
		if len(dialled) != 6 {
			t.Errorf("dialled %v, want the two others and then a pause", dialled[4:])
		}
	})
}
