package mcp_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/client/kenny"
	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/face/tunnel"
	"parley.internal/internal/fleet"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	wire "parley.internal/protocol/kenny"
)

// machine is a managed computer as a test plays it: it answers every tool and
// remembers what it was asked.
type machine struct {
	calls  chan *wire.Request
	answer func(*wire.Request) (jsontext.Value, error)
	client *kenny.Client
}

func (m *machine) Policy([]wire.Rule) {}

func (m *machine) Call(_ context.Context, req *wire.Request) (jsontext.Value, error) {
	m.calls <- req
	return m.answer(req)
}

// usual is what the machines of these tests answer.
func usual(req *wire.Request) (jsontext.Value, error) {
	switch req.Tool {
	case "screen_capture":
		return jsontext.Value(`{"image_b64":"` + base64.StdEncoding.EncodeToString([]byte("PNG")) + `","format":"png","width":3,"height":2}`), nil
	case "fs_read":
		return nil, &wire.Error{Code: wire.CodeNotFound, Message: "no such file: /x"}
	case "shell_exec":
		return jsontext.Value(`{"stdout":"hi\n","stderr":"","exit_code":0}`), nil
	default:
		return jsontext.Value(`{"volumes":[{"mount":"/","percent_used":10}]}`), nil
	}
}

// park is a rig with machines.
type park struct {
	*rig
	fleet *fleet.Fleet
	inbox *approval.Inbox
	key   ed25519.PrivateKey
}

func newPark(t *testing.T, limits fleet.Limits, o facemcp.FleetOptions) *park {
	t.Helper()
	ctx := t.Context()
	p := &park{rig: newBase(t), key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	trail := must(audit.Open(ctx, p.db, audit.Options{Key: p.key}))(t)
	t.Cleanup(func() { check(t, trail.Close()) })
	p.inbox = must(approval.Open(ctx, p.db, p.bus, approval.Options{}))(t)
	t.Cleanup(func() { check(t, p.inbox.Close()) })
	leases := must(lease.Join(ctx, p.db, "test", lease.Options{Alone: true}))(t)
	t.Cleanup(func() { check(t, leases.Close(context.Background())) })
	p.fleet = must(fleet.New(fleet.Deps{
		DB: p.db, Bus: p.bus, Leases: leases, Audit: trail, Inbox: p.inbox, Key: p.key, Alone: true, Limits: limits,
		Owner: func(context.Context) string { return p.owner.ID },
	}))(t)
	check(t, p.fleet.Start(ctx))
	gate := tunnel.New(tunnel.Deps{Fleet: p.fleet, Front: p.front})
	p.more = gate.Routes
	p.serve(facemcp.Limits{}, []facemcp.Toolset{facemcp.Fleet(p.fleet, o)})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		check(t, gate.Close(ctx))
		check(t, p.fleet.Close(ctx))
	})
	return p
}

func (p *park) operator() identity.Actor {
	return identity.Local(p.owner)
}

// enrol makes a machine and, if it should be online, connects it.
func (p *park) enrol(id string, online bool) *machine {
	p.t.Helper()
	minted := must(p.fleet.Mint(p.t.Context(), p.operator(), fleet.MintRequest{Machine: id}))(p.t)
	m := &machine{calls: make(chan *wire.Request, 100), answer: usual}
	if !online {
		return m
	}
	public, key, err := ed25519.GenerateKey(nil)
	check(p.t, err)
	client := &http.Client{Transport: &http.Transport{}}
	check(p.t, kenny.Enroll(p.t.Context(), p.server.URL, id, minted.Token, public, kenny.WithHTTPClient(client)))
	pin, _ := p.key.Public().(ed25519.PublicKey)
	up := make(chan struct{}, 10)
	m.client = must(kenny.New(kenny.Config{
		URL: p.server.URL, AgentID: id, Key: key, ServerKeys: []ed25519.PublicKey{pin}, Handler: m, HTTPClient: client,
		Meta: wire.Meta{Hostname: id + ".local", OS: wire.Linux, Version: "1.0"}, OnConnect: func() { up <- struct{}{} },
	}))(p.t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.client.Run(ctx) }()
	p.t.Cleanup(func() {
		stop()
		<-ended
		client.CloseIdleConnections()
	})
	<-up
	eventually(p.t, id+" is online", func() bool {
		found, err := p.fleet.Machine(context.Background(), p.operator(), id)
		return err == nil && found.Online
	})
	return m
}

// idle checks that a machine was not asked for anything.
func (m *machine) idle(t *testing.T) {
	t.Helper()
	select {
	case req := <-m.calls:
		t.Errorf("the machine was asked for %s", req.Tool)
	default:
	}
}

func structured(t *testing.T, s *sdk.ClientSession, name string, args any) map[string]any {
	t.Helper()
	result := must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args}))(t)
	if result.IsError {
		t.Fatalf("%s: %s; want not result.IsError", name, textOf(result))
	}
	var fromText map[string]any
	check(t, json.Unmarshal([]byte(textOf(result)), &fromText))
	if diff := cmp.Diff(fromText, result.StructuredContent); diff != "" {
		t.Errorf("%s: text and structured content differ: %s", name, diff)
	}
	out, _ := result.StructuredContent.(map[string]any)
	return out
}

func keys(m any) []string {
	object, _ := m.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

// Item 29 of the fleet's list.
func TestEveryMachineToolHasSchemaAndAnnotations(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	for _, revision := range bothKinds {
		for _, path := range []string{"/mcp?tools=all", "/mcp/fleet"} {
			seen := map[string]bool{}
			for tool, err := range p.connect(path, revision, options{}).Tools(t.Context(), nil) {
				check(t, err)
				seen[tool.Name] = true
				schema, _ := tool.InputSchema.(map[string]any)
				properties, _ := schema["properties"].(map[string]any)
				if schema["type"] != "object" || schema["additionalProperties"] != false || tool.Description == "" || tool.Annotations == nil {
					t.Errorf("%s: %v %v", tool.Name, schema, tool.Annotations)
				}
				k, forwarded := wire.Lookup(tool.Name)
				if !forwarded {
					if tool.OutputSchema == nil {
						t.Errorf("%s promises no result", tool.Name)
					}
					continue
				}
				for _, name := range []string{"agent_id", "timeout_s", "queue_for_s"} {
					if properties[name] == nil {
						t.Errorf("%s has no %s", tool.Name, name)
					}
				}
				a := tool.Annotations
				if a.ReadOnlyHint != (k.Class != wire.Mutating) || *a.DestructiveHint != k.Hints.Destructive || a.IdempotentHint != k.Hints.Idempotent || *a.OpenWorldHint != k.Hints.OpenWorld {
					t.Errorf("%s: annotations %+v", tool.Name, a)
				}
			}
			for _, k := range wire.Tools() {
				if !seen[k.Name] {
					t.Errorf("%s is missing on %s", k.Name, path)
				}
			}
			for _, name := range []string{"list_agents", "select_agent", "fleet_overview", "agent_health", "agent_snapshot", "call_status", "call_cancel"} {
				if !seen[name] && (name != "select_agent" || revision == withSessions) {
					t.Errorf("%s is missing on %s", name, path)
				}
			}
		}
	}
	if res, body := p.post("/mcp/fleet", hello, map[string]string{"Authorization": ""}); res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" || !json.Valid([]byte(body)) {
		t.Errorf("without a token: %s %s", res.Status, body)
	}
}

// Item 29 of the fleet's list.
func TestResultsHaveTheKeysTheyPromise(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	p.enrol("pc-2", false)
	check(t, m.client.PushTelemetry(time.Now(), map[string]jsontext.Value{
		"disk":   jsontext.Value(`{"status":"ok","summary":"fine","volumes":[{"mount":"/","percent_used":97}]}`),
		"uptime": jsontext.Value(`{"status":"ok","summary":"up","uptime_secs":5,"boot_time_unix":1}`),
	}))
	eventually(t, "telemetry is there", func() bool {
		snap, err := p.fleet.Snapshot(context.Background(), p.operator(), "pc-1", "")
		return err == nil && snap.Sections != nil
	})
	entry := []string{"agent_id", "collected_at", "flagged_sections", "hostname", "last_seen", "meta", "online", "overall", "presence", "tags"}
	for _, revision := range bothKinds {
		s := p.connect("/mcp/fleet", revision, options{})
		list := structured(t, s, "list_agents", nil)
		agents, _ := list["agents"].([]any)
		if diff := cmp.Diff([]string{"active_agent", "agents"}, keys(list)); diff != "" || len(agents) != 2 || list["active_agent"] != nil {
			t.Errorf("list_agents: %s %v", diff, list)
		}
		if diff := cmp.Diff(entry, keys(agents[0])); diff != "" {
			t.Error(diff)
		}
		over := structured(t, s, "fleet_overview", nil)
		agents, _ = over["agents"].([]any)
		if diff := cmp.Diff([]string{"agents", "counts", "overall"}, keys(over)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(append([]string{"crit_sections", "summary", "warn_sections"}, entry...))), keys(agents[0])); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"crit", "off", "ok", "online", "overdue", "unknown", "warn"}, keys(over["counts"])); diff != "" {
			t.Error(diff)
		}
		health := structured(t, s, "agent_health", map[string]any{"id": "pc-1"})
		if diff := cmp.Diff([]string{"agent_id", "collected_at", "overall", "sections"}, keys(health)); diff != "" || health["overall"] != "crit" {
			t.Errorf("%s %v; want no difference, health[\"overall\"] to be \"crit\"", diff, health)
		}
		snap := structured(t, s, "agent_snapshot", map[string]any{"agent_id": "pc-1"})
		if diff := cmp.Diff([]string{"agent_id", "collected_at", "snapshot"}, keys(snap)); diff != "" {
			t.Error(diff)
		}
		section := structured(t, s, "agent_snapshot", map[string]any{"id": "pc-1", "section": "uptime"})
		if diff := cmp.Diff([]string{"boot_time_unix", "status", "summary", "uptime_secs"}, keys(section)); diff != "" {
			t.Error(diff)
		}
		if none := structured(t, s, "agent_snapshot", map[string]any{"id": "pc-2"}); none["snapshot"] != nil {
			t.Errorf("no telemetry yet: %v", none)
		}
		fails(t, s, "agent_snapshot", map[string]any{"id": "pc-1", "section": "nothing"}, "not_found: ")
		fails(t, s, "agent_snapshot", map[string]any{"id": "nobody"}, "not_found: ")
		fails(t, s, "agent_health", map[string]any{"id": "pc-1", "agent_id": "pc-2"}, "bad_args: ")
		fails(t, s, "agent_health", nil, "bad_args: ")
	}
}

// Item 29 of the fleet's list.
func TestCallsReachTheNamedMachineAndFailuresKeepTheirWords(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	p.enrol("away", false)
	for _, revision := range bothKinds {
		s := p.connect("/mcp/fleet", revision, options{})
		result := must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: "fs_disk_usage", Arguments: map[string]any{"agent_id": "pc-1"}}))(t)
		if req := <-m.calls; req.Tool != "fs_disk_usage" || string(req.Args) != "{}" {
			t.Errorf("the machine got %s %s", req.Tool, req.Args)
		}
		if result.IsError || result.Meta["parley/agent_id"] != "pc-1" || result.Meta["parley/call_id"] == "" || result.Meta["parley/duration_ms"] == nil {
			t.Errorf("%s, meta %v", textOf(result), result.Meta)
		}
		if diff := cmp.Diff([]string{"volumes"}, keys(result.StructuredContent)); diff != "" {
			t.Error(diff)
		}
		picture := must(s.CallTool(t.Context(), &sdk.CallToolParams{Name: "screen_capture", Arguments: map[string]any{"agent_id": "pc-1"}}))(t)
		<-m.calls
		image, ok := picture.Content[0].(*sdk.ImageContent)
		if !ok || string(image.Data) != "PNG" || image.MIMEType != "image/png" {
			t.Errorf("picture %+v", picture.Content)
		}
		if diff := cmp.Diff(map[string]any{"format": "png", "width": 3.0, "height": 2.0}, picture.StructuredContent); diff != "" {
			t.Error(diff)
		}
		fails(t, s, "fs_read", map[string]any{"agent_id": "pc-1", "path": "/x"}, "not_found: no such file: /x")
		<-m.calls
		fails(t, s, "fs_disk_usage", map[string]any{"agent_id": "away"}, "offline: ")
		fails(t, s, "fs_disk_usage", map[string]any{"agent_id": "nobody"}, "not_found: ")
		fails(t, s, "fs_disk_usage", nil, "no_agent: ")
		fails(t, s, "fs_disk_usage", map[string]any{"agent_id": " "}, "no_agent: ")
		fails(t, s, "fs_disk_usage", map[string]any{"agent_id": "pc-1", "path": "/"}, "bad_args: ")
		fails(t, s, "diag_eventlog", map[string]any{"agent_id": "pc-1", "log": "System", "count": 0}, "bad_args: ")
		fails(t, s, "winget_list", map[string]any{"agent_id": "pc-1"}, "unsupported: ")
		queued := structured(t, s, "fs_disk_usage", map[string]any{"agent_id": "away", "queue_for_s": 60})
		if diff := cmp.Diff([]string{"call_id", "expires_at", "state"}, keys(queued)); diff != "" || queued["state"] != "queued" {
			t.Errorf("%s %v; want no difference, queued[\"state\"] to be \"queued\"", diff, queued)
		}
		if status := structured(t, s, "call_status", map[string]any{"call_id": queued["call_id"]}); status["state"] != "queued" {
			t.Errorf("status %v", status)
		}
		if status := structured(t, s, "call_cancel", map[string]any{"call_id": queued["call_id"]}); status["state"] != "cancelled" {
			t.Errorf("status %v", status)
		}
		_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "format_everything", Arguments: map[string]any{"agent_id": "pc-1"}})
		if answer, ok := errors.AsType[*jsonrpc.Error](err); !ok || answer.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("an unknown tool: %v", err)
		}
		m.idle(t)
	}
}

func TestScopesAndLimitsHoldForEveryTool(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	for _, tc := range []struct{ scopes, tool, want string }{
		{"fleet:read", "screen_capture", "forbidden: this needs the scope fleet:sensitive"},
		{"fleet:read", "shell_exec", "forbidden: this needs the scope fleet:call"},
		{"fleet:read,fleet:call", "agent_update", "forbidden: this needs the scope fleet:admin"},
		{"fleet:read,machine:pc-2", "fs_disk_usage", "forbidden: "},
		{"fleet:read,tag:office", "fs_disk_usage", "forbidden: "},
	} {
		s := p.connect("/mcp/fleet", standalone, options{token: p.newToken("owner", strings.Split(tc.scopes, ",")...).Secret})
		args := map[string]any{"agent_id": "pc-1"}
		switch tc.tool {
		case "shell_exec":
			args["script"] = "true"
		case "agent_update":
			args["version"], args["url"], args["sha256"] = "2", "https://x", strings.Repeat("0", 64)
		}
		fails(t, s, tc.tool, args, tc.want)
	}
	limited := p.connect("/mcp/fleet", standalone, options{token: p.newToken("owner", "fleet:read", "machine:pc-2").Secret})
	fails(t, limited, "agent_health", map[string]any{"id": "nobody"}, "forbidden: ")
	m.idle(t)
}

// Item 30 of the fleet's list.
func TestASelectionHoldsInItsSessionOnly(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	one, two := p.enrol("pc-1", true), p.enrol("pc-2", true)
	p.enrol("away", false)
	s, other := p.connect("/mcp/fleet", withSessions, options{}), p.connect("/mcp/fleet", withSessions, options{})
	works(t, s, "select_agent", map[string]any{"id": "pc-1"}, `{"active_agent":"pc-1","online":true}`)
	structured(t, s, "fs_disk_usage", nil)
	<-one.calls
	// Naming another machine in one call selects nothing.
	structured(t, s, "fs_disk_usage", map[string]any{"agent_id": "pc-2"})
	<-two.calls
	structured(t, s, "fs_disk_usage", nil)
	<-one.calls
	if list := structured(t, s, "list_agents", nil); list["active_agent"] != "pc-1" {
		t.Errorf("active %v", list["active_agent"])
	}
	fails(t, s, "fs_disk_usage", map[string]any{"agent_id": ""}, "no_agent: ")
	fails(t, other, "fs_disk_usage", nil, "no_agent: ")
	fails(t, s, "select_agent", map[string]any{"id": "nobody"}, "not_found: ")
	structured(t, s, "fs_disk_usage", nil) // the failed selection changed nothing
	<-one.calls
	works(t, s, "select_agent", map[string]any{"agent_id": "away"}, `{"active_agent":"away","online":false}`)
	fails(t, s, "fs_disk_usage", nil, "offline: ")
	alone := p.connect("/mcp/fleet", standalone, options{})
	fails(t, alone, "select_agent", map[string]any{"id": "pc-1"}, "unsupported: ")
	fails(t, alone, "fs_disk_usage", nil, "no_agent: ")
	one.idle(t)
	two.idle(t)
}

func TestAHubMayWantTheMachineNamed(t *testing.T) {
	for when, want := range map[string][2]bool{"never": {true, true}, "mutating": {true, false}, "always": {false, false}} {
		p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{RequireAgentID: when})
		m := p.enrol("pc-1", true)
		s := p.connect("/mcp/fleet", withSessions, options{token: p.newToken("owner", "fleet", "fleet:unattended").Secret})
		structured(t, s, "select_agent", map[string]any{"id": "pc-1"})
		for i, tool := range []string{"fs_disk_usage", "net_dns_flush"} {
			text, failed := call(t, s, tool, nil)
			if failed == want[i] || failed && !strings.HasPrefix(text, "no_agent: ") {
				t.Errorf("%s: %s: %s", when, tool, text)
			}
			if !failed {
				<-m.calls
			}
		}
		m.idle(t)
	}
}
