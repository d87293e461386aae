package talk_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	facetalk "parley.internal/internal/face/talk"
	wire "parley.internal/protocol/agentfirst"
)

var update = flag.Bool("update", false, "write the golden files anew")

// row is one request of the protocol's tables and how many messages answer it.
type row struct {
	name    string
	request *wire.ClientMessage
}

// Every row of the protocol's tables, in an order in which each has something to
// answer about, as an extended client on the Unix socket sees it.
func TestEveryRequestIsAnsweredAsTheProtocolSays(t *testing.T) {
	h := newHub(t, facetalk.Limits{}, facetalk.TCPOptions{})
	check(t, os.MkdirAll(filepath.Join(h.dir, "skills", "release"), 0o700))
	check(t, os.WriteFile(filepath.Join(h.dir, "skills", "release", "SKILL.md"), []byte("---\nname: release\ndescription: how to\n---\nDo it.\n"), 0o600))
	c := h.dialUnix()
	var out bytes.Buffer
	var handle, archive string
	record := func(name string, answers ...*wire.ServerMessage) {
		fmt.Fprintf(&out, "-- %s --\n", name)
		for _, a := range joined(answers) {
			if p := a.GetConversationList(); p != nil && len(p.GetConversations()) > 0 {
				handle = p.GetConversations()[0].GetFilePath()
			}
			if id := a.GetCompact().GetArchiveId(); id != "" {
				archive = id
			}
			fmt.Fprintln(&out, normal(t, a))
		}
	}
	one := func(name string, m *wire.ClientMessage) {
		t.Helper()
		record(name, ask(t, c, m))
	}
	one("200 hello", &wire.ClientMessage{Message: &wire.ClientMessage_Hello{Hello: &wire.Hello{Version: 1}}})
	one("30 ping", ping())
	one("0 empty", &wire.ClientMessage{})
	one("1 send", sendTurn("crab", "/say Two tiers agreed. Billing is monthly."))
	one("1 send, unknown agent", sendTurn("nobody", "hi"))
	one("1 send, unknown guest", &wire.ClientMessage{Message: &wire.ClientMessage_Send{Send: &wire.Turn{Agent: "crab", Content: "hi", Guest: new("nobody")}}})
	one("1 send, failing model", sendTurn("crab", "/fail 503 busy"))
	send(t, c, stream("crab", "/say hello there"))
	_, events := collect(t, c)
	record("2 stream", events...)
	send(t, c, stream("crab", "/say I am a twin.", func(m *wire.Turn) { m.Guest = new("twin") }))
	_, events = collect(t, c)
	record("2 stream, guest", events...)
	send(t, c, stream("crab", "hi", func(m *wire.Turn) { m.Guest = new("nobody") }))
	_, events = collect(t, c)
	record("2 stream, unknown guest", events...)
	one("3 reply_to_ask", &wire.ClientMessage{Message: &wire.ClientMessage_ReplyToAsk{ReplyToAsk: &wire.ReplyToAsk{Agent: "crab", Content: "yes"}}})
	one("4 list_active_conversations", &wire.ClientMessage{Message: &wire.ClientMessage_ListActiveConversations{ListActiveConversations: &wire.ListActiveConversations{}}})
	one("7 list_conversations", &wire.ClientMessage{Message: &wire.ClientMessage_ListConversations{ListConversations: &wire.ListConversations{Agent: "crab"}}})
	one("38 get_conversation_history", &wire.ClientMessage{Message: &wire.ClientMessage_GetConversationHistory{GetConversationHistory: &wire.GetConversationHistory{FilePath: handle}}})
	one("38 get_conversation_history, a path", &wire.ClientMessage{Message: &wire.ClientMessage_GetConversationHistory{GetConversationHistory: &wire.GetConversationHistory{FilePath: "/etc/passwd"}}})
	one("6 compact", &wire.ClientMessage{Message: &wire.ClientMessage_Compact{Compact: &wire.Compact{Agent: "crab", Focus: "prices"}}})
	one("6 compact, nothing", &wire.ClientMessage{Message: &wire.ClientMessage_Compact{Compact: &wire.Compact{Agent: "crab"}}})
	one("6 compact, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_Compact{Compact: &wire.Compact{Agent: "crab", Sender: "nobody"}}})
	one("204 list_archives", &wire.ClientMessage{Message: &wire.ClientMessage_ListArchives{ListArchives: &wire.ListArchives{Agent: "crab"}}})
	one("205 get_archive", &wire.ClientMessage{Message: &wire.ClientMessage_GetArchive{GetArchive: &wire.GetArchive{Id: archive, Limit: 2}}})
	one("205 get_archive, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_GetArchive{GetArchive: &wire.GetArchive{Id: "x"}}})
	one("206 search", &wire.ClientMessage{Message: &wire.ClientMessage_Search{Search: &wire.Search{Query: "monthly", Limit: 1}}})
	one("206 search, bad time", &wire.ClientMessage{Message: &wire.ClientMessage_Search{Search: &wire.Search{Query: "x", After: "soon"}}})
	one("209 set_title", &wire.ClientMessage{Message: &wire.ClientMessage_SetTitle{SetTitle: &wire.SetTitle{FilePath: handle, Title: "Prices"}}})
	one("209 set_title, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_SetTitle{SetTitle: &wire.SetTitle{FilePath: "conversation:x", Title: "x"}}})
	send(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_Export{Export: &wire.Export{FilePath: handle}}})
	first, last := receive(t, c), receive(t, c)
	jsonl := first.GetJsonl().GetData()
	if bytes.Count(jsonl, []byte("\n")) != 9 || last.GetJsonl() == nil || !last.GetJsonl().GetLast() {
		t.Errorf("the export: %s %v", jsonl, last)
	}
	one("208 import, exists", &wire.ClientMessage{Message: &wire.ClientMessage_Import{Import: &wire.Import{Data: jsonl, Last: true}}})
	send(t, c, &wire.ClientMessage{Message: &wire.ClientMessage_Import{Import: &wire.Import{Data: jsonl[:100], Thread: "copy"}}})
	one("208 import", &wire.ClientMessage{Message: &wire.ClientMessage_Import{Import: &wire.Import{Data: jsonl[100:], Thread: "copy", Last: true}}})
	one("208 import, empty", &wire.ClientMessage{Message: &wire.ClientMessage_Import{Import: &wire.Import{Last: true}}})
	one("201 cancel", &wire.ClientMessage{Message: &wire.ClientMessage_Cancel{Cancel: &wire.Cancel{Agent: "crab"}}})
	one("203 detach", &wire.ClientMessage{Message: &wire.ClientMessage_Detach{Detach: &wire.Detach{Agent: "crab"}}})
	one("5 kill", &wire.ClientMessage{Message: &wire.ClientMessage_Kill{Kill: &wire.Kill{Agent: "crab"}}})
	one("5 kill, nothing there", &wire.ClientMessage{Message: &wire.ClientMessage_Kill{Kill: &wire.Kill{Agent: "crab"}}})
	one("39 delete_conversation", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteConversation{DeleteConversation: &wire.DeleteConversation{FilePath: handle}}})
	one("39 delete_conversation, gone", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteConversation{DeleteConversation: &wire.DeleteConversation{FilePath: handle}}})
	for _, r := range hubRows() {
		one(r.name, r.request)
	}
	golden(t, "testdata/rows.golden", out.Bytes())
}

// hubRows are the rows that concern the hub rather than a conversation.
func hubRows() []row {
	return []row{
		{"8 list_providers", &wire.ClientMessage{Message: &wire.ClientMessage_ListProviders{ListProviders: &wire.ListProviders{}}}},
		{"9 set_provider, bad", &wire.ClientMessage{Message: &wire.ClientMessage_SetProvider{SetProvider: &wire.SetProvider{Name: "x", Config: "{"}}}},
		{"10 delete_provider, built in", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteProvider{DeleteProvider: &wire.DeleteProvider{Name: "offline"}}}},
		{"10 delete_provider, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteProvider{DeleteProvider: &wire.DeleteProvider{Name: "x"}}}},
		{"11 set_active_model", &wire.ClientMessage{Message: &wire.ClientMessage_SetActiveModel{SetActiveModel: &wire.SetActiveModel{Model: "offline:offline"}}}},
		{"11 set_active_model, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_SetActiveModel{SetActiveModel: &wire.SetActiveModel{Model: "x:y"}}}},
		{"12 list_provider_presets", &wire.ClientMessage{Message: &wire.ClientMessage_ListProviderPresets{ListProviderPresets: &wire.ListProviderPresets{}}}},
		{"14 set_local_mcps", &wire.ClientMessage{Message: &wire.ClientMessage_SetLocalMcps{SetLocalMcps: &wire.SetLocalMcps{Mcps: []*wire.McpInfo{{Name: "files", Command: "files-mcp", Env: map[string]string{"KEY": "s3cret"}}}}}}},
		{"14 set_local_mcps, bad", &wire.ClientMessage{Message: &wire.ClientMessage_SetLocalMcps{SetLocalMcps: &wire.SetLocalMcps{Mcps: []*wire.McpInfo{{Name: "x"}}}}}},
		{"13 list_mcps", &wire.ClientMessage{Message: &wire.ClientMessage_ListMcps{ListMcps: &wire.ListMcps{}}}},
		{"15 list_agents", &wire.ClientMessage{Message: &wire.ClientMessage_ListAgents{ListAgents: &wire.ListAgents{}}}},
		{"16 get_agent", &wire.ClientMessage{Message: &wire.ClientMessage_GetAgent{GetAgent: &wire.GetAgent{Name: "crab"}}}},
		{"16 get_agent, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_GetAgent{GetAgent: &wire.GetAgent{Name: "x"}}}},
		{"17 create_agent", &wire.ClientMessage{Message: &wire.ClientMessage_CreateAgent{CreateAgent: &wire.CreateAgent{Name: "new", Config: `{"prompt":"You are new.","model":"offline"}`}}}},
		{"17 create_agent, exists", &wire.ClientMessage{Message: &wire.ClientMessage_CreateAgent{CreateAgent: &wire.CreateAgent{Name: "new", Config: `{}`}}}},
		{"17 create_agent, bad name", &wire.ClientMessage{Message: &wire.ClientMessage_CreateAgent{CreateAgent: &wire.CreateAgent{Name: "../x", Config: `{}`}}}},
		{"18 update_agent", &wire.ClientMessage{Message: &wire.ClientMessage_UpdateAgent{UpdateAgent: &wire.UpdateAgent{Name: "new", Config: `{"compact_threshold":"off"}`}}}},
		{"18 update_agent, unknown key", &wire.ClientMessage{Message: &wire.ClientMessage_UpdateAgent{UpdateAgent: &wire.UpdateAgent{Name: "new", Config: `{"modell":"x"}`}}}},
		{"18 update_agent, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_UpdateAgent{UpdateAgent: &wire.UpdateAgent{Name: "x", Config: `{}`}}}},
		{"19 delete_agent", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteAgent{DeleteAgent: &wire.DeleteAgent{Name: "new"}}}},
		{"19 delete_agent, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteAgent{DeleteAgent: &wire.DeleteAgent{Name: "new"}}}},
		{"20 install_package", &wire.ClientMessage{Message: &wire.ClientMessage_InstallPackage{InstallPackage: &wire.InstallPackage{Package: "x"}}}},
		{"21 uninstall_package", &wire.ClientMessage{Message: &wire.ClientMessage_UninstallPackage{UninstallPackage: &wire.UninstallPackage{Package: "x"}}}},
		{"22 list_packages", &wire.ClientMessage{Message: &wire.ClientMessage_ListPackages{ListPackages: &wire.ListPackages{}}}},
		{"32 reload", &wire.ClientMessage{Message: &wire.ClientMessage_Reload{Reload: &wire.Reload{}}}},
		{"23 list_skills", &wire.ClientMessage{Message: &wire.ClientMessage_ListSkills{ListSkills: &wire.ListSkills{}}}},
		{"24 start_service", &wire.ClientMessage{Message: &wire.ClientMessage_StartService{StartService: &wire.StartService{Name: "x"}}}},
		{"25 stop_service", &wire.ClientMessage{Message: &wire.ClientMessage_StopService{StopService: &wire.StopService{Name: "x"}}}},
		{"26 service_logs", &wire.ClientMessage{Message: &wire.ClientMessage_ServiceLogs{ServiceLogs: &wire.ServiceLogs{Name: "x"}}}},
		{"27 create_cron", &wire.ClientMessage{Message: &wire.ClientMessage_CreateCron{CreateCron: &wire.CreateCron{Schedule: "0 9 * * *", Skill: "release", Agent: "crab", QuietStart: new("22:00"), QuietEnd: new("06:00")}}}},
		{"27 create_cron, bad schedule", &wire.ClientMessage{Message: &wire.ClientMessage_CreateCron{CreateCron: &wire.CreateCron{Schedule: "often", Skill: "release", Agent: "crab"}}}},
		{"27 create_cron, unknown agent", &wire.ClientMessage{Message: &wire.ClientMessage_CreateCron{CreateCron: &wire.CreateCron{Schedule: "0 9 * * *", Skill: "release", Agent: "x"}}}},
		{"29 list_crons", &wire.ClientMessage{Message: &wire.ClientMessage_ListCrons{ListCrons: &wire.ListCrons{}}}},
		{"28 delete_cron", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteCron{DeleteCron: &wire.DeleteCron{Id: 1}}}},
		{"28 delete_cron, unknown", &wire.ClientMessage{Message: &wire.ClientMessage_DeleteCron{DeleteCron: &wire.DeleteCron{Id: 1}}}},
		{"31 get_config", &wire.ClientMessage{Message: &wire.ClientMessage_GetConfig{GetConfig: &wire.GetConfig{}}}},
		{"33 get_stats", &wire.ClientMessage{Message: &wire.ClientMessage_GetStats{GetStats: &wire.GetStats{}}}},
		{"35 set_enabled, skill", &wire.ClientMessage{Message: &wire.ClientMessage_SetEnabled{SetEnabled: &wire.SetEnabled{Kind: wire.ResourceSkill, Name: "release"}}}},
		{"35 set_enabled, MCP", &wire.ClientMessage{Message: &wire.ClientMessage_SetEnabled{SetEnabled: &wire.SetEnabled{Kind: wire.ResourceMCP, Name: "files"}}}},
		{"35 set_enabled, unknown provider", &wire.ClientMessage{Message: &wire.ClientMessage_SetEnabled{SetEnabled: &wire.SetEnabled{Kind: wire.ResourceProvider, Name: "x"}}}},
		{"35 set_enabled, unknown kind", &wire.ClientMessage{Message: &wire.ClientMessage_SetEnabled{SetEnabled: &wire.SetEnabled{Name: "x"}}}},
		{"23 list_skills, one off", &wire.ClientMessage{Message: &wire.ClientMessage_ListSkills{ListSkills: &wire.ListSkills{}}}},
		{"36 list_models", &wire.ClientMessage{Message: &wire.ClientMessage_ListModels{ListModels: &wire.ListModels{}}}},
		{"37 search_hub", &wire.ClientMessage{Message: &wire.ClientMessage_SearchHub{SearchHub: &wire.SearchHub{Query: "x"}}}},
	}
}

// joined puts pieces of text together that came apart by chance.
func joined(all []*wire.ServerMessage) (out []*wire.ServerMessage) {
	for _, m := range all {
		if len(out) > 0 {
			last, c := out[len(out)-1].GetStream().GetChunk(), m.GetStream().GetChunk()
			if last != nil && c != nil {
				last.Content += c.GetContent()
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// masks hide what differs from run to run.
var masks = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`"date":"\d{4}-\d\d-\d\d"`), `"date":"DAY"`},
	{regexp.MustCompile(`"score":[0-9.]+`), `"score":N`},
	{regexp.MustCompile(`"(aliveSecs|uptimeSecs)":"\d+",?`), ""},
	{regexp.MustCompile(`,}`), "}"},
}

// normal is a message as stable text; the library's own JSON differs on purpose.
func normal(t *testing.T, m *wire.ServerMessage) string {
	t.Helper()
	raw := must(protojson.Marshal(m))(t)
	var compact bytes.Buffer
	check(t, json.Compact(&compact, raw))
	text := compact.String()
	for _, mask := range masks {
		text = mask.find.ReplaceAllString(text, mask.put)
	}
	return text
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		check(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check(t, os.WriteFile(file, got, 0o644))
		return
	}
	want := must(os.ReadFile(file))(t)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
