package trail_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/hubapi"
	"parley.internal/client/viber"
	"parley.internal/internal/audit"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
	"parley.internal/test/archtest"
	"parley.internal/test/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// must fails the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// counts is how often each action is in the trail.
func counts(t *testing.T, h *hubtest.Hub) map[audit.Action]int {
	t.Helper()
	var all strings.Builder
	if err := hubapi.Copy(t.Context(), h.Client(), &all, rest.ExportAudit, rest.None{}); err != nil {
		t.Fatal(err)
	}
	got := map[audit.Action]int{}
	for line := range strings.Lines(all.String()) {
		var e struct {
			Action audit.Action `json:"action"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Action != "" {
			got[e.Action]++
		}
	}
	return got
}

// ok sends a request that must succeed.
func ok(t *testing.T, h *hubtest.Hub, method, path, body string) hubtest.Answer {
	t.Helper()
	a := h.Do(method, path, body)
	if a.Err != nil || a.Status/100 != 2 {
		t.Fatalf("%s %s: %d %s %v; want no error, a.Status/100 to be 2", method, path, a.Status, a.Body, a.Err)
	}
	return a
}

// board connects to the board as somebody with a token.
func board(t *testing.T, h *hubtest.Hub, token string) *viber.Client {
	t.Helper()
	c := must(viber.Dial(t.Context(), strings.Replace(h.URL, "http", "ws", 1)+"/ws", viber.Options{Token: token}))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Every step does something once. What each package's own tests have written is held
// against the same list by test/trailtest; here the whole program is.
func TestWhatHappensOnAHubIsInItsTrailOnce(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{})
	before := counts(t, h)
	want := map[audit.Action]int{}
	for _, step := range []struct {
		name    string
		do      func(t *testing.T, h *hubtest.Hub)
		actions []audit.Action
	}{
		{"people", people, []audit.Action{audit.PersonAdded, audit.TokenCreated, audit.TokenRotated, audit.TokenRevoked, audit.LinkCreated, audit.PageOpened, audit.PageClosed}},
		{"strangers", strangers, []audit.Action{audit.AuthRefused, audit.OriginRefused}},
		{"a task", task, []audit.Action{audit.AuthAccepted, audit.TaskSubmitted, audit.TaskMessage, audit.ApprovalAsked, audit.ApprovalResolved, audit.TaskTool, audit.TaskEnded}},
		{"a token that may little", weak, []audit.Action{audit.TokenCreated, audit.ScopeRefused}},
		{"a machine", machine, []audit.Action{
			audit.FleetTokenMinted, audit.FleetMachineCreated, audit.FleetEnrolled, audit.FleetMachineEdited, audit.FleetCallQueued, audit.FleetCall, audit.FleetCallIntent, audit.FleetCall,
			audit.FleetRuleAdded, audit.FleetRuleRemoved, audit.FleetLinkCreated, audit.FleetMachineRemoved,
		}},
		{"a room", room, []audit.Action{audit.RoomOpened, audit.RoomLocked, audit.RoomUnlocked, audit.RoomBanned, audit.RoomUnbanned, audit.RoomReset, audit.RoomLobby, audit.RoomClosed}},
		{"the place", place, []audit.Action{audit.PlaceSaltRenewed}},
	} {
		step.do(t, h)
		for _, a := range step.actions {
			want[a]++
		}
	}
	h.Terminate() // what was only noted is written by then
	h.Wait()
	h.Restart()
	got := counts(t, h)
	for a, n := range want {
		if got[a]-before[a] != n {
			t.Errorf("%s is in the trail %d times, want %d", a, got[a]-before[a], n)
		}
	}
	known(t, got)
}

// known fails for actions that the list does not have.
func known(t *testing.T, got map[audit.Action]int) {
	t.Helper()
	list := must(archtest.Actions("../../internal/audit/actions.go"))(t)
	listed := map[audit.Action]bool{}
	for _, a := range list {
		listed[audit.Action(a.Name)] = true
	}
	for a := range got {
		if !listed[a] {
			t.Errorf("the hub wrote %q, which is not in the list of actions", a)
		}
	}
}

func people(t *testing.T, h *hubtest.Hub) {
	c := h.Client()
	ok(t, h, "POST", "/api/people", `{"name":"ada"}`)
	made := must(hubapi.Call(t.Context(), c, rest.CreateToken, rest.TokenRequest{Name: "one"}))(t)
	must(hubapi.Call(t.Context(), c, rest.RotateToken, rest.Rotation{ID: made.ID}))(t)
	if _, err := hubapi.Call(t.Context(), c, rest.RevokeToken, rest.ByID{ID: made.ID}); err != nil {
		t.Fatal(err)
	}
	link := must(hubapi.Call(t.Context(), c, rest.CreateLoginLink, rest.LoginLinkRequest{}))(t)
	_, secret, _ := strings.Cut(link.Path, "#login=")
	page(t, h, secret)
}

// page logs a browser in with a link and out again.
func page(t *testing.T, h *hubtest.Hub, secret string) {
	t.Helper()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	send := func(method, body string, cookie *http.Cookie, csrf string) *http.Response {
		req := must(http.NewRequestWithContext(t.Context(), method, h.URL+"/api/session", strings.NewReader(body)))(t)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Parley-CSRF", csrf)
		if cookie != nil {
			req.AddCookie(cookie)
		}
		return must(client.Do(req))(t)
	}
	res := send("POST", `{"login":"`+secret+`"}`, nil, "")
	var session struct {
		CSRF string `json:"csrf"`
	}
	err := json.NewDecoder(res.Body).Decode(&session)
	_ = res.Body.Close()
	if err != nil || len(res.Cookies()) != 1 {
		t.Fatalf("logging in: %s, %v", res.Status, err)
	}
	res = send("DELETE", "", res.Cookies()[0], session.CSRF)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("logging out: %s", res.Status)
	}
}

func strangers(t *testing.T, h *hubtest.Hub) {
	if a := h.As("prl_"+strings.Repeat("A", 43), "GET", "/api/status", ""); a.Status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", a.Status)
	}
	req := must(http.NewRequestWithContext(t.Context(), "GET", h.URL+"/api/status", nil))(t)
	req.Header.Set("Origin", "https://evil.example")
	client := &http.Client{}
	defer client.CloseIdleConnections()
	res := must(client.Do(req))(t)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("another website: %s", res.Status)
	}
}

// task has an agent ask before it uses a tool, corrects it meanwhile, and says no.
func task(t *testing.T, h *hubtest.Hub) {
	c := board(t, h, h.Owner)
	ctx, cancel := context.WithTimeout(t.Context(), hubtest.Patience)
	defer cancel()
	made := must(c.Submit(ctx, &wire.TaskSubmit{Goal: "/tool shell {\"command\":\"touch x\"}\n/say done", Options: &wire.TaskOptions{Mode: wire.AlwaysAsk}}))(t)
	for m, err := range made.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if asked, ok := m.Body.(*wire.ApprovalRequired); ok {
			must(made.Message(ctx, "be quick", wire.Followup))(t)
			must(c.Reject(ctx, asked.ApprovalID, "no"))(t)
		}
	}
}

func weak(t *testing.T, h *hubtest.Hub) {
	made := must(hubapi.Call(t.Context(), h.Client(), rest.CreateToken, rest.TokenRequest{Name: "weak", Scopes: []string{"status:read"}}))(t)
	if a := h.As(made.Token, "POST", "/api/backup", ""); a.Status != http.StatusForbidden {
		t.Errorf("a backup without the scope: %d", a.Status)
	}
}

// machine queues a call for a machine that is away and takes it back; then it comes.
func machine(t *testing.T, h *hubtest.Hub) {
	m := hubtest.Enrol(t, h, "pc-1", func(context.Context, *kenny.Request) (jsontext.Value, error) { return jsontext.Value(`{}`), nil })
	ok(t, h, "PATCH", "/api/machines/pc-1", `{"name":"a box"}`)
	queued := ok(t, h, "POST", "/api/machines/pc-1/calls", `{"tool":"net_config","args":{},"queue_for_s":3600}`)
	var call struct {
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal(queued.Body, &call); err != nil || queued.Status != http.StatusAccepted {
		t.Fatalf("queueing: %d %s %v", queued.Status, queued.Body, err)
	}
	ok(t, h, "DELETE", "/api/fleet/calls/"+call.CallID, "")
	stop := m.Connect(t, h)
	ok(t, h, "POST", "/api/machines/pc-1/calls", `{"tool":"net_config","args":{}}`)
	stop()
	ok(t, h, "POST", "/api/fleet/policy/rules", `{"id":"op.x","applies_to":"powershell","pattern":"choco","reason":"we use winget"}`)
	ok(t, h, "DELETE", "/api/fleet/policy/rules/op.x", "")
	ok(t, h, "POST", "/api/machines/pc-1/install-link", "")
	ok(t, h, "DELETE", "/api/machines/pc-1", "")
}

func room(t *testing.T, h *hubtest.Hub) {
	ok(t, h, "POST", "/api/rooms", `{"room":"tea"}`)
	const at = "/api/rooms/tea"
	for _, command := range []string{
		`{"op":"lock"}`, `{"op":"unlock"}`, `{"op":"ban","target":"person:eve"}`, `{"op":"unban","target":"person:eve"}`, `{"op":"reset"}`, `{"op":"lobbyon"}`,
	} {
		ok(t, h, "POST", at+"/commands", command)
	}
	ok(t, h, "DELETE", at, "")
}

func place(t *testing.T, h *hubtest.Hub) { ok(t, h, "POST", "/api/place/audit/salt", "") }

func TestAHubThatWasStoppedAgreesWithItsKeptCheckpoints(t *testing.T) {
	h := hubtest.Start(t, hubtest.Config{})
	weak(t, h)
	h.Terminate()
	h.Wait()
	h.Restart()
	report := must(hubapi.Call(t.Context(), h.Client(), rest.VerifyAudit, rest.None{}))(t)
	if !report.OK || len(report.Kept) != 1 || report.Kept[0].Agree == 0 {
		t.Errorf("a hub that was stopped and started: %+v", report)
	}
}

// A witness that takes nothing is told to whoever looks, and stops nothing.
func TestAWitnessThatFailsIsShownAndStopsNothing(t *testing.T) {
	folder := t.TempDir() // no file can be written under its name
	h := hubtest.New(t, hubtest.Config{Env: []string{"PARLEY_AUDIT_WITNESS_FILE=" + folder}})
	h.Restart()
	weak(t, h)
	h.Terminate() // signs a checkpoint, which the next start offers again
	h.Wait()
	h.Restart()
	weak(t, h)
	hubtest.Eventually(t, "the status warns of the witness", func() bool {
		for _, w := range must(hubapi.Call(t.Context(), h.Client(), rest.GetStatus, rest.None{}))(t).Warnings {
			if w.Code == "audit_witness" && strings.Contains(w.Text, folder) {
				return true
			}
		}
		return false
	})
	if report := must(hubapi.Call(t.Context(), h.Client(), rest.VerifyAudit, rest.None{}))(t); !report.OK {
		t.Errorf("the trail of a hub whose witness fails: %+v", report)
	}
	if a := h.As("", "GET", "/readyz", ""); a.Status != http.StatusOK {
		t.Errorf("a hub whose witness fails is not ready: %s", a.Body)
	}
}
