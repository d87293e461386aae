package tunnel_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	sdk "parley.internal/client/kenny"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
)

const goodSnapshot = `{"disk":{"status":"ok","summary":"fine","volumes":[{"mount":"/","percent_used":40}]}}`

func telemetryFrame(id, snapshot string) string {
	return `{"type":"telemetry","agent_id":"` + id + `","collected_at":"` + time.Now().UTC().Format(time.RFC3339) + `","snapshot":` + snapshot + `}`
}

func (h *hub) events(q telemetry.EventQuery) []telemetry.Event {
	h.t.Helper()
	return must(h.fleet.Events(context.Background(), h.op(), q))(h.t).Events
}

// said reports whether an event of a kind is there.
func (h *hub) said(machine, part string) bool {
	for _, e := range h.events(telemetry.EventQuery{Machine: machine}) {
		if strings.Contains(e.Message, part) {
			return true
		}
	}
	return false
}

func TestOversizedTelemetryIsDroppedAndTheNextIsStored(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("pc")
	r.send(telemetryFrame("pc", `{"disk":{"status":"crit","summary":"`+strings.Repeat("x", 257<<10)+`"}}`))
	r.send(telemetryFrame("pc", goodSnapshot))
	until(t, "the good one is stored", func() bool { return h.machine("pc").Overall == kenny.StatusOK })
	if h.fleet.Stats().Read().Dropped["oversized"] != 1 || !h.said("pc", "oversized") {
		t.Error("nobody knows of the dropped one")
	}
}

func TestAMessageAboveEightMiBIsSkippedAndItsCallFailsAtOnce(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("pc")
	failed := make(chan error, 1)
	go func() { _, err := h.call("pc", "fs_read", `{"path":"/big"}`); failed <- err }()
	req := r.hear().(*kenny.Request)
	r.send(`{"type":"response","id":"` + req.ID + `","ok":true,"result":{"content":"` + strings.Repeat("y", 9<<20) + `"}}`)
	wantCode(t, receive(t, failed, "failure"), fault.TooLarge)
	r.send(telemetryFrame("pc", goodSnapshot))
	until(t, "the session lives", func() bool { return h.machine("pc").Overall == kenny.StatusOK })
}

func TestAMessageAboveSixtyFourMiBEndsTheSession(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("pc")
	w, err := r.ws.Writer(t.Context(), websocket.MessageText)
	check(t, err)
	piece := []byte(strings.Repeat(" ", 1<<20))
	for range 66 {
		if _, err := w.Write(piece); err != nil {
			break
		}
	}
	if code := r.closed(); code != kenny.CloseTooBig && code != -1 {
		t.Errorf("closed %d", code)
	}
	h.presence("pc", fleet.Reconnecting)
}

func TestTwentyBadFramesEndTheSessionAndUnknownTypesNever(t *testing.T) {
	h := newHub(t, options{})
	r, key := h.rawMachine("pc")
	for range 200 {
		r.send(`{"type":"resume","at":1}`)
	}
	bad := []string{`junk`, `{"type":"register"}`, `{"type":"policy","rules":[]}`, `{"type":"request","id":"1","tool":"x","args":{}}`, `{"type":"response"}`, `{"type":"telemetry","agent_id":"pc"}`}
	for i := range 19 {
		r.send(bad[i%len(bad)])
	}
	r.send(telemetryFrame("pc", goodSnapshot))
	until(t, "nineteen do not", func() bool { return h.machine("pc").Overall == kenny.StatusOK })
	check(t, r.ws.Write(t.Context(), websocket.MessageBinary, []byte("x")))
	if code := r.closed(); code != kenny.CloseBadFrames {
		t.Errorf("closed %d", code)
	}
	d := h.fleet.Stats().Read().Dropped
	if d["unknown_type"] != 200 || d["bad_frame"] != 20 {
		t.Errorf("%v; want d[\"unknown_type\"] to be 200, d[\"bad_frame\"] to be 20", d)
	}
	h.dial().shake("pc", key) // and it may come back
}

func TestPushesAreFiledUnderTheProvenIDOnly(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("liar")
	h.join("victim")
	r.send(telemetryFrame("victim", `{"disk":{"status":"crit","summary":"lies"}}`))
	r.send(`{"type":"log","agent_id":"victim","at":"2026-01-01T00:00:00Z","level":"error","target":"t","message":"lies"}`)
	r.send(telemetryFrame("liar", goodSnapshot))
	until(t, "the liar's own is stored", func() bool { return h.machine("liar").Overall == kenny.StatusOK })
	if h.machine("victim").Overall != kenny.StatusUnknown || h.said("victim", "lies") {
		t.Error("a machine wrote into another's data")
	}
	found := 0
	for _, e := range h.events(telemetry.EventQuery{Machine: "liar", Kind: "audit"}) {
		if e.Target == "security" && strings.Contains(string(e.Fields), "victim") {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d security events", found)
	}
}

func TestLogFramesAreStoredWithAllFields(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("pc")
	r.send(`{"type":"log","agent_id":"pc","at":"2026-06-04T18:00:01Z","level":"warn","target":"tunnel","message":"backing off","fields":{"error":"reset","n":4}}`)
	r.send(`{"type":"log","agent_id":"pc","at":"2026-06-04T18:00:01Z","level":"info","target":"big","message":"` + strings.Repeat("m", 9<<10) + `","fields":{"x":"` + strings.Repeat("f", 17<<10) + `"}}`)
	until(t, "both are there", func() bool { return len(h.events(telemetry.EventQuery{Machine: "pc", Source: "machine"})) == 2 })
	list := h.events(telemetry.EventQuery{Machine: "pc", Source: "machine"})
	e := list[1]
	if e.Level != kenny.LevelWarn || e.Target != "tunnel" || e.Message != "backing off" || string(e.Fields) != `{"error":"reset","n":4}` || e.Sent.Year() != 2026 || e.Kind != "log" {
		t.Errorf("%+v", e)
	}
	if len(list[0].Message) > kenny.MaxLogMessage+8 || len(list[0].Fields) > kenny.MaxLogFields {
		t.Errorf("not cut: %d, %d", len(list[0].Message), len(list[0].Fields))
	}
	if !h.said("pc", "connected") {
		t.Error("connect is no event")
	}
}

func TestFloodsAreDroppedAndCountedAndTheSessionLives(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("pc")
	for i := range 700 {
		r.send(fmt.Sprintf(`{"type":"log","agent_id":"pc","at":"2026-06-04T18:00:01Z","level":"info","target":"t","message":"%d"}`, i))
	}
	for range 260 {
		r.send(telemetryFrame("pc", goodSnapshot))
	}
	r.say(&kenny.Ping{})
	if _, ok := r.hear().(*kenny.Pong); !ok {
		t.Error("no pong")
	}
	d := h.fleet.Stats().Read().Dropped
	if d["log_rate"] == 0 || d["telemetry_rate"] == 0 {
		t.Errorf("%v; want d[\"log_rate\"] not to be 0, d[\"telemetry_rate\"] not to be 0", d)
	}
}

func TestACleanGoodbyeIsOffAndACutIsReconnectingThenOverdue(t *testing.T) {
	calm := newHub(t, options{})
	m := calm.join("polite")
	m.stop()
	calm.presence("polite", fleet.Off)
	h := newHub(t, options{fleet: func(d *fleet.Deps) { d.Limits.Silence = 300 * time.Millisecond; d.Limits.Ping = 100 * time.Millisecond }})
	r, _ := h.rawMachine("rude")
	_ = r.ws.CloseNow()
	until(t, "not online", func() bool { return !h.machine("rude").Online })
	if p := h.machine("rude").Presence; p != fleet.Reconnecting && p != fleet.Overdue {
		t.Error(p)
	}
	h.presence("rude", fleet.Overdue)
}

func TestASilentMachineIsPingedThenGivenUp(t *testing.T) {
	h := newHub(t, options{fleet: func(d *fleet.Deps) { d.Limits.Ping, d.Limits.Silence = 300*time.Millisecond, 1200*time.Millisecond }})
	r, _ := h.rawMachine("pc")
	if _, ok := r.hear().(*kenny.Ping); !ok {
		t.Fatal("no ping")
	}
	if code := r.closed(); code != kenny.CloseSilent {
		t.Errorf("closed %d", code)
	}
	until(t, "not online", func() bool { return !h.machine("pc").Online })
}

func TestAMachinesOwnSilence(t *testing.T) {
	h := newHub(t, options{})
	key := h.enrol("pc")
	must(h.fleet.Edit(t.Context(), h.op(), "pc", fleet.Edit{Thresholds: &fleet.Thresholds{PingS: 1, SilenceS: 2}}))(t)
	r := h.dial()
	r.shake("pc", key)
	if _, ok := r.hear().(*kenny.Ping); !ok {
		t.Fatal("no ping after a second")
	}
	if code := r.closed(); code != kenny.CloseSilent {
		t.Errorf("closed %d", code)
	}
}

func TestASecondConnectionReplacesTheFirst(t *testing.T) {
	h := newHub(t, options{})
	first, key := h.rawMachine("pc")
	failed := make(chan error, 1)
	go func() { _, err := h.call("pc", "net_config", ""); failed <- err }()
	first.hear()
	second := h.dial()
	second.shake("pc", key)
	if msg := wantCode(t, receive(t, failed, "failure"), fault.Offline); !strings.Contains(msg, "disconnected during the call") {
		t.Errorf("msg is %v; want \"disconnected during the call\" in it", msg)
	}
	if code := first.closed(); code != kenny.CloseReplaced {
		t.Errorf("closed %d", code)
	}
	_ = first.ws.CloseNow()
	answered := make(chan error, 1)
	go func() { _, err := h.call("pc", "net_config", ""); answered <- err }()
	req := second.hear().(*kenny.Request)
	second.say(&kenny.Response{ID: req.ID, OK: true, Result: jsontext.Value(`{}`)})
	check(t, receive(t, answered, "answer"))
	if !h.machine("pc").Online {
		t.Error("the late end of the old connection took the new one's presence")
	}
}

func TestExactlyTheCallsOfAnEndedConnectionFail(t *testing.T) {
	h := newHub(t, options{})
	a, _ := h.rawMachine("a")
	b, _ := h.rawMachine("b")
	failed, fine := make(chan error, 3), make(chan error, 1)
	for range 3 {
		go func() { _, err := h.call("a", "net_config", ""); failed <- err }()
		a.hear()
	}
	go func() { _, err := h.call("b", "net_config", ""); fine <- err }()
	req := b.hear().(*kenny.Request)
	_ = a.ws.CloseNow()
	for range 3 {
		wantCode(t, receive(t, failed, "failure"), fault.Offline)
	}
	b.say(&kenny.Response{ID: req.ID, OK: true})
	check(t, receive(t, fine, "answer"))
}

func TestAResponseOfAnotherConnectionIsDropped(t *testing.T) {
	h := newHub(t, options{})
	a, _ := h.rawMachine("a")
	b, _ := h.rawMachine("b")
	got := make(chan string, 1)
	go func() {
		done, err := h.call("a", "net_config", "")
		got <- fmt.Sprint(string(done.Result), err)
	}()
	req := a.hear().(*kenny.Request)
	b.say(&kenny.Response{ID: req.ID, OK: true, Result: jsontext.Value(`{"forged":true}`)})
	b.say(&kenny.Ping{})
	b.hear() // the forgery has been read
	a.say(&kenny.Response{ID: req.ID, OK: true, Result: jsontext.Value(`{"true":1}`)})
	if s := receive(t, got, "answer"); s != `{"true":1}<nil>` {
		t.Errorf("s is %v; want s to be \"{\"true\":1}<nil>\"", s)
	}
	a.say(&kenny.Response{ID: req.ID, OK: true, Result: jsontext.Value(`{"late":1}`)})
	until(t, "late ones are counted", func() bool { return h.fleet.Stats().Read().Dropped["late_response"] == 2 })
}

func TestRemovalClosesAndRevokes(t *testing.T) {
	h := newHub(t, options{})
	r, key := h.rawMachine("pc")
	r.send(telemetryFrame("pc", goodSnapshot))
	until(t, "stored", func() bool { return h.machine("pc").Overall == kenny.StatusOK })
	check(t, h.fleet.Remove(t.Context(), h.op(), "pc"))
	if code := r.closed(); code != kenny.CloseBadFrames {
		t.Errorf("closed %d", code)
	}
	again := h.dial()
	nonce := newNonce()
	again.say(register("pc", nonce))
	c := again.hear().(*kenny.Challenge) // removed ids are challenged like others
	again.say(&kenny.Auth{AgentSig: must(kenny.Sign(key, must(kenny.Transcript("pc", nonce, c.ServerNonce))(t)))(t)})
	if code := again.closed(); code != kenny.CloseUnauthorized {
		t.Errorf("closed %d", code)
	}
	_, err := h.fleet.Machine(t.Context(), h.op(), "pc")
	wantCode(t, err, fault.NotFound)
	if !h.said("pc", "removed") {
		t.Error("the past is gone")
	}
}

func TestASlowToolDoesNotStopAnything(t *testing.T) {
	release := make(chan struct{})
	h := newHub(t, options{})
	h.join("pc", answering(func(ctx context.Context, r *kenny.Request) (jsontext.Value, error) {
		if r.Tool == "fs_search" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return jsontext.Value(`{}`), nil
	}))
	slow := make(chan error, 1)
	go func() { _, err := h.call("pc", "fs_search", `{"root":"/","pattern":"x"}`); slow <- err }()
	var quick sync.WaitGroup
	for range 20 {
		quick.Go(func() {
			if _, err := h.call("pc", "net_config", ""); err != nil {
				t.Error(err)
			}
		})
	}
	quick.Wait()
	close(release)
	check(t, receive(t, slow, "slow answer"))
}

// dialDeaf connects with hardly any room for what the hub sends.
func (h *hub) dialDeaf() *raw {
	h.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(4096))
		}
		return c, err
	}}}
	ws, _, err := websocket.Dial(h.t.Context(), strings.Replace(h.server.URL, "http", "ws", 1)+"/agent/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = ws.CloseNow() })
	return &raw{t: h.t, ws: ws}
}

func TestAMachineThatDoesNotReadDelaysNobodyAndIsBusy(t *testing.T) {
	h := newHub(t, options{fleet: func(d *fleet.Deps) { d.Limits.InFlight = 10_000 }, tight: true})
	h.dialDeaf().shake("stuck", h.enrol("stuck"))
	h.join("fine")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	args := jsontext.Value(`{"root":"/` + strings.Repeat("x", 4000) + `","pattern":"` + strings.Repeat("y", 4000) + `"}`)
	var calls sync.WaitGroup
	busy := make(chan struct{}, 1)
	for range 160 {
		calls.Go(func() {
			_, err := h.fleet.Call(ctx, h.op(), call.Request{Machine: "stuck", Tool: "fs_search", Args: args})
			if fault.CodeOf(err) == fault.Busy {
				select {
				case busy <- struct{}{}:
				default:
				}
			}
		})
	}
	receive(t, busy, "busy")
	if _, err := h.call("fine", "net_config", ""); err != nil {
		t.Error(err)
	}
	cancel()
	calls.Wait()
}

func TestThirtyTwoCallsInFlightThenBusy(t *testing.T) {
	release := make(chan struct{})
	h := newHub(t, options{})
	arrived := make(chan struct{}, 64)
	h.join("pc", answering(func(ctx context.Context, _ *kenny.Request) (jsontext.Value, error) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return jsontext.Value(`{}`), nil
	}))
	done := make(chan error, 32)
	for range 32 {
		go func() { _, err := h.call("pc", "net_config", ""); done <- err }()
	}
	for range 32 {
		receive(t, arrived, "call")
	}
	_, err := h.call("pc", "net_config", "")
	wantCode(t, err, fault.Busy)
	close(release)
	for range 32 {
		check(t, receive(t, done, "answer"))
	}
}

func TestAStoppingHubSendsMachinesAway(t *testing.T) {
	h := newHub(t, options{})
	r, _ := h.rawMachine("pc")
	finished := make(chan error, 1)
	go func() { _, err := h.call("pc", "net_config", ""); finished <- err }()
	req := r.hear().(*kenny.Request)
	go h.stop()
	r.say(&kenny.Response{ID: req.ID, OK: true})
	check(t, receive(t, finished, "the call under way"))
	if code := r.closed(); code != kenny.CloseRestart {
		t.Errorf("closed %d", code)
	}
	h.stop()
}

func TestLegacyBearersWorkOnlyWhenSwitchedOn(t *testing.T) {
	legacy := func(token string) string {
		return `{"type":"register","agent_id":"old","token":"` + token + `","meta":{"hostname":"H","os":"windows","version":"0.1"}}`
	}
	off := newHub(t, options{})
	_, err := off.fleet.Mint(t.Context(), off.op(), fleet.MintRequest{Machine: "old", Legacy: true})
	wantCode(t, err, fault.Conflict)
	r := off.dial()
	r.send(legacy("whatever"))
	if code := r.closed(); code != kenny.CloseUnauthorized || !refusedEvent(off) {
		t.Errorf("closed %d", code)
	}

	h := newHub(t, options{fleet: func(d *fleet.Deps) { d.InsecureLegacyTokens = true }})
	enrolToken := must(h.fleet.Mint(t.Context(), h.op(), fleet.MintRequest{Machine: "old"}))(t).Token
	first := must(h.fleet.Mint(t.Context(), h.op(), fleet.MintRequest{Machine: "old", Legacy: true}))(t).Token
	for _, bad := range []string{enrolToken, "nonsense", h.token} {
		r := h.dial()
		r.send(legacy(bad))
		if code := r.closed(); code != kenny.CloseUnauthorized {
			t.Errorf("closed %d", code)
		}
	}
	live := h.dial()
	live.send(legacy(first))
	if _, ok := live.hear().(*kenny.Policy); !ok || !h.machine("old").Online {
		t.Fatal("not admitted")
	}
	// Rotation keeps a live machine, and the old token until the new one is used.
	second := must(h.fleet.Mint(t.Context(), h.op(), fleet.MintRequest{Machine: "old", Legacy: true}))(t).Token
	if !h.machine("old").Online {
		t.Error("rotation threw the machine out")
	}
	again := h.dial()
	again.send(legacy(first))
	if _, ok := again.hear().(*kenny.Policy); !ok {
		t.Error("the old token ended too early")
	}
	newest := h.dial()
	newest.send(legacy(second))
	if _, ok := newest.hear().(*kenny.Policy); !ok {
		t.Error("the new token does not work")
	}
	last := h.dial()
	last.send(legacy(first))
	if code := last.closed(); code != kenny.CloseUnauthorized {
		t.Errorf("a replaced token: %d", code)
	}
	withNonce := h.dial()
	withNonce.send(strings.Replace(legacy(second), `"token"`, `"protocol":"0.7","token"`, 1))
	if code := withNonce.closed(); code != kenny.CloseUnauthorized {
		t.Errorf("bearer with a protocol: %d", code)
	}
	// A machine with a key is never accepted by bearer.
	_, key, _ := ed25519.GenerateKey(nil)
	check(t, sdk.Enroll(t.Context(), h.server.URL, "old", enrolToken, key.Public().(ed25519.PublicKey)))
	r = h.dial()
	r.send(legacy(second))
	if code := r.closed(); code != kenny.CloseUnauthorized {
		t.Errorf("bearer of an enrolled machine: %d", code)
	}
}

func refusedEvent(h *hub) bool {
	for _, e := range h.events(telemetry.EventQuery{}) {
		if e.Target == "refused" {
			return true
		}
	}
	return false
}

func TestARevokedOperatorSeesNothing(t *testing.T) {
	h := newHub(t, options{})
	h.join("pc")
	_, err := h.fleet.Overview(t.Context(), h.scoped(identity.AtAPI, identity.Talk), fleet.ListQuery{})
	wantCode(t, err, fault.Forbidden)
}
