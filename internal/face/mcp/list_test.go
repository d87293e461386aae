package mcp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/audit"
	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/fleet"
	wire "parley.internal/protocol/kenny"
)

// 73 tools stood on /mcp at once: 60 000 characters that a model had to read in every
// turn. Now the common ones stand there, and the others are found and used.
func TestALongListIsShortAndTheRestIsFound(t *testing.T) {
	w := newWhole(t)
	for _, revision := range bothKinds {
		s := w.connect("/mcp", revision, options{})
		short, whole := names(t, s), names(t, w.connect("/mcp?tools=all", revision, options{}))
		if len(short) > 24 || len(whole) < 70 || slices.Contains(whole, "find_tools") {
			t.Errorf("/mcp lists %d tools (%v), with tools=all %d", len(short), short, len(whole))
		}
		machines := names(t, w.connect("/mcp?tools=fleet", revision, options{}))
		if !slices.Contains(machines, "fs_search") || !slices.Contains(machines, "use_tool") || slices.Contains(machines, "task_submit") {
			t.Errorf("/mcp?tools=fleet lists %v", machines)
		}
		found, _ := structured(t, s, "find_tools", map[string]any{"query": "flush the DNS cache of a computer"})["tools"].([]any)
		if len(found) == 0 || found[0].(map[string]any)["name"] != "net_dns_flush" || found[0].(map[string]any)["input_schema"] == nil {
			t.Errorf("looking for the DNS cache finds %v", found)
		}
		named, _ := structured(t, s, "find_tools", nil)["names"].(map[string]any)
		count := 0
		for _, part := range named {
			count += len(part.([]any))
		}
		if count != len(whole) {
			t.Errorf("%s: find_tools names %d tools, tools=all lists %d", revision, count, len(whole))
		}
		if used := structured(t, s, "use_tool", map[string]any{"name": "place_info"}); len(used) == 0 {
			t.Errorf("place_info by use_tool answers %v", used)
		}
	}
	if res, _ := w.rig.post("/mcp?tools=nonsense", hello, nil); res.StatusCode != http.StatusBadRequest {
		t.Errorf("tools of a part that is not there: %s", res.Status)
	}
}

// A tool that is reached through another is itself in every respect: its scope is
// needed, its arguments are checked, its person is asked, its name is in the trail.
func TestAToolThatWasFoundNeedsWhatItNeeds(t *testing.T) {
	p := newProbe()
	r := newRig(t, facemcp.Limits{}, p.toolset())
	narrow := r.newToken("owner", "talk").Secret
	use := func(name string, args any) map[string]any { return map[string]any{"name": name, "arguments": args} }
	for _, revision := range bothKinds {
		s := r.connect("/mcp", revision, options{token: narrow})
		works(t, s, "use_tool", use("probe_echo", map[string]any{"text": "x"}), `{"said":"x"}`)
		fails(t, s, "use_tool", use("probe_guarded", map[string]any{}), "forbidden: this needs the scope admin")
		fails(t, s, "use_tool", use("probe_echo", map[string]any{"text": 7}), "bad_args: ")
		fails(t, s, "use_tool", use("use_tool", use("probe_echo", map[string]any{"text": "x"})), "bad_args: ")
		fails(t, s, "use_tool", map[string]any{"arguments": map[string]any{}}, "bad_args: ")
		fails(t, s, "use_tool", map[string]any{"name": "probe_echo", "more": 1}, "bad_args: ")
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "use_tool", Arguments: use("nonesuch", nil)}); err == nil {
			t.Error("an unknown tool is used")
		}
		fails(t, s, "use_tool", use("probe_confirm", map[string]any{"text": "go"}), "denied: nobody can be asked")
	}
	for _, e := range r.trail.entries() {
		if e.Action == audit.MCPCall && (e.Target == "use_tool" || e.Target == "") {
			t.Errorf("the trail names %q and not the tool that ran", e.Target)
		}
	}
	if !slices.ContainsFunc(r.trail.entries(), func(e audit.Entry) bool { return e.Target == "guarded" && e.Outcome == "forbidden" }) {
		t.Error("the trail does not tell of the tool that was refused")
	}
}

// A client of an older revision that asked for something nobody knows was answered
// with a line of text and status 400, and took the server for broken.
func TestUnknownMethodsAreSaidToBeUnknown(t *testing.T) {
	r := newRig(t, facemcp.Limits{}, newProbe().toolset())
	res, _ := r.post("/mcp/probe", hello, nil)
	session := map[string]string{"Mcp-Session-Id": res.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": withSessions}
	for id, header := range map[string]map[string]string{`7`: session, `"seven"`: nil} {
		res, body := r.post("/mcp/probe", `{"jsonrpc":"2.0","id":`+id+`,"method":"roots/<none>","params":[1]}`, header)
		var answer struct {
			ID    json.RawMessage
			Error struct{ Code int64 }
		}
		check(t, json.Unmarshal([]byte(body), &answer))
		if res.StatusCode != http.StatusOK || string(answer.ID) != id || answer.Error.Code != jsonrpc.CodeMethodNotFound {
			t.Errorf("an unknown method: %s %s", res.Status, body)
		}
	}
	if res, body := r.post("/mcp/probe", `{"jsonrpc":"2.0","method":"notifications/whatever"}`, session); res.StatusCode != http.StatusAccepted || body != "" {
		t.Errorf("an unknown notification: %s %s", res.Status, body)
	}
	if res, body := r.post("/mcp/probe", `{"jsonrpc":"2.0","id":8,"method":"ping"}`, session); res.StatusCode != http.StatusOK || !strings.Contains(body, `"result"`) {
		t.Errorf("the session goes on: %s %s", res.Status, body)
	}
}

// Models read \u003c where a machine had said <, and wrote that into files.
func TestWhatAModelReadsIsNotEscaped(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	m := p.enrol("pc-1", true)
	m.answer = func(*wire.Request) (jsontext.Value, error) {
		return jsontext.Value(`{"entries":[{"name":"a<b>&\u003cc\u003e"}]}`), nil
	}
	for _, revision := range bothKinds {
		s := p.connect("/mcp/fleet", revision, options{})
		text, failed := call(t, s, "fs_list", map[string]any{"agent_id": "pc-1", "path": "/"})
		<-m.calls
		if want := `{"entries":[{"name":"a<b>&<c>"}]}`; failed || text != want {
			t.Errorf("a model reads %s, want %s", text, want)
		}
	}
}

// A model could not know what sections there are, nor that a tool without an id
// answers nothing.
func TestSchemasSayWhatACallNeeds(t *testing.T) {
	p := newPark(t, fleet.Limits{}, facemcp.FleetOptions{})
	for revision, machineNeeded := range map[string]bool{withSessions: false, standalone: true} {
		seen := map[string]map[string]any{}
		for tool, err := range p.connect("/mcp/fleet", revision, options{}).Tools(t.Context(), nil) {
			check(t, err)
			seen[tool.Name], _ = tool.InputSchema.(map[string]any)
		}
		required := func(name string) (list []string) {
			all, _ := seen[name]["required"].([]any)
			for _, one := range all {
				list = append(list, one.(string))
			}
			return list
		}
		for _, name := range []string{"agent_health", "agent_snapshot"} {
			if diff := cmp.Diff([]string{"id"}, required(name)); diff != "" {
				t.Errorf("%s: %s requires (-want +got)\n%s", revision, name, diff)
			}
		}
		if got := slices.Contains(required("fs_list"), "agent_id"); got != machineNeeded {
			t.Errorf("%s: fs_list requires a machine: %v, want %v", revision, got, machineNeeded)
		}
		if _, there := seen["select_agent"]; there == machineNeeded {
			t.Errorf("%s: select_agent is listed: %v, want %v", revision, there, !machineNeeded)
		}
		for _, name := range []string{"agent_snapshot", "telemetry_collect"} {
			if text := string(must(json.Marshal(seen[name]))(t)); !strings.Contains(text, `"enum":["disk",`) || !strings.Contains(text, `"wifi_quality"`) {
				t.Errorf("%s does not say which sections there are: %s", name, text)
			}
		}
	}
	always := newPark(t, fleet.Limits{}, facemcp.FleetOptions{RequireAgentID: "always"})
	for tool, err := range always.connect("/mcp/fleet", withSessions, options{}).Tools(t.Context(), nil) {
		check(t, err)
		if text := string(must(json.Marshal(tool.InputSchema))(t)); tool.Name == "fs_list" && !strings.Contains(text, `"required":["agent_id","path"]`) {
			t.Errorf("where every call must name its machine, the schema says %s", text)
		}
	}
}
