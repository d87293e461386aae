package api_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	"parley.internal/internal/hub"
	"parley.internal/internal/hub/config"
	wire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a hub, its owner's client, and somebody who may only talk.
type rig struct {
	dir string
	url string
	// client is the test server's own transport, which ends with it.
	client http.RoundTripper
	owner  *hubapi.Client
	alice  *hubapi.Client
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir() + "/data"
	conf := must(config.Load(config.Sources{Data: dir}))(t)
	h := must(hub.Open(t.Context(), conf, hub.Options{Version: "test"}))(t)
	server := httptest.NewServer(h.Handler())
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); h.Close() })
	owner := hubapi.WithTransport(server.URL, must(hub.Folder(dir).OwnerToken())(t), server.Client().Transport)
	token := must(hubapi.Call(t.Context(), owner, rest.CreateToken, rest.TokenRequest{Name: "a", Principal: "alice", Scopes: []string{"talk"}}))(t)
	return &rig{dir: dir, url: server.URL, client: server.Client().Transport, owner: owner, alice: hubapi.WithTransport(server.URL, token.Token, server.Client().Transport)}
}

// agentFile is an agent's file as the hub shows it.
func (r *rig) agentFile(t *testing.T, name string) string {
	t.Helper()
	var text strings.Builder
	if err := hubapi.Copy(t.Context(), r.owner, &text, rest.AgentFile, rest.ByName{Name: name}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// say has a client say something to an agent.
func (r *rig) say(t *testing.T, c *hubapi.Client, agent, thread, text string) {
	t.Helper()
	chat := must(agentfirst.Dial(t.Context(), "ws"+strings.TrimPrefix(r.url, "http")+"/talk/ws", agentfirst.Options{Token: c.Token()}))(t)
	defer func() { _ = chat.Close() }()
	must(chat.Send(t.Context(), &wire.Turn{Agent: agent, Thread: thread, Content: text}))(t)
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused(t *testing.T, what, code string, err error) {
	t.Helper()
	if !hubapi.IsCode(err, code) {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

// What REST does to an agent is in its file, and the other way round.
func TestAgentsAgreeWithTheirFiles(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	made := must(hubapi.Call(ctx, r.owner, rest.CreateAgent, rest.Agent{"name": "scout", "prompt": "You look around.", "tools": []string{"files"}}))(t)
	if made.Text("name") != "scout" || made.Text("prompt") != "You look around." {
		t.Errorf("made %v", made)
	}
	file := filepath.Join(r.dir, "agents", "scout.md")
	onDisk := string(must(os.ReadFile(file))(t))
	if text := r.agentFile(t, "scout"); text != onDisk || !strings.Contains(text, "tools: [files]") {
		t.Errorf("file %q, on disk %q", text, onDisk)
	}
	changed := must(hubapi.Call(ctx, r.owner, rest.UpdateAgent, rest.AgentChange{Name: "scout", Body: rest.Agent{"max_iterations": 3, "tools": nil}}))(t)
	if changed["max_iterations"] != 3.0 || changed.Text("prompt") != "You look around." {
		t.Errorf("changed %v", changed)
	}
	must(hubapi.Call(ctx, r.owner, rest.PutAgentFile, rest.AgentFileChange{Name: "scout", Body: strings.NewReader("---\nmodel: offline\n---\nYou wander.\n")}))(t)
	if got := must(hubapi.Call(ctx, r.owner, rest.GetAgent, rest.ByName{Name: "scout"}))(t); got.Text("model") != "offline" || got.Text("description") != "You wander." {
		t.Errorf("got %v", got)
	}
	_, err := hubapi.Call(ctx, r.owner, rest.PutAgentFile, rest.AgentFileChange{Name: "scout", Body: strings.NewReader("---\nmodell: x\n---\n")})
	refused(t, "a mistake in the file", "invalid", err)
	if !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "model") {
		t.Errorf("the error does not help: %v", err)
	}
	_, err = hubapi.Call(ctx, r.owner, rest.CreateAgent, rest.Agent{"name": "scout"})
	refused(t, "a second of that name", "conflict", err)
	_, err = hubapi.Call(ctx, r.owner, rest.CreateAgent, rest.Agent{"prompt": "x"})
	refused(t, "no name", "bad_request", err)
	_, err = hubapi.Call(ctx, r.owner, rest.CreateAgent, rest.Agent{"name": "../evil"})
	refused(t, "a path for a name", "invalid", err)

	// Others see agents but not their prompts, and change nothing.
	if got := must(hubapi.Call(ctx, r.alice, rest.GetAgent, rest.ByName{Name: "scout"}))(t); got.Text("prompt") != "" || got.Text("model") != "offline" {
		t.Errorf("alice sees %v", got)
	}
	_, err = hubapi.Call(ctx, r.alice, rest.UpdateAgent, rest.AgentChange{Name: "scout", Body: rest.Agent{"model": "x"}})
	refused(t, "alice changing an agent", "insufficient_scope", err)
	err = hubapi.Copy(ctx, r.alice, io.Discard, rest.AgentFile, rest.ByName{Name: "scout"})
	refused(t, "alice reading a file", "insufficient_scope", err)

	if _, err := hubapi.Call(ctx, r.owner, rest.RemoveAgent, rest.ByName{Name: "scout"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	_, err = hubapi.Call(ctx, r.owner, rest.GetAgent, rest.ByName{Name: "scout"})
	refused(t, "a removed agent", "agent_not_found", err)
	if len(must(hubapi.Call(ctx, r.alice, rest.ListAgents, rest.None{}))(t).Agents) == 0 {
		t.Error("no first agents")
	}
}

func TestConversationsOverREST(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.say(t, r.owner, "parley", "", "/say The harbour opens at nine.")
	r.say(t, r.alice, "parley", "", "/say Alice's secret.")
	list := must(hubapi.Call(ctx, r.owner, rest.ListConversations, rest.ConversationQuery{Agent: "parley", Sender: "user"}))(t).Conversations
	if len(list) != 1 || list[0].Messages != 2 || list[0].Sender != "user" {
		t.Fatalf("list %+v", list)
	}
	id := list[0].ID
	if got := must(hubapi.Call(ctx, r.owner, rest.RenameConversation, rest.ConversationTitle{ID: id, Body: rest.Title{Title: "Harbour"}}))(t); got.Title != "Harbour" {
		t.Errorf("renamed %+v", got)
	}
	messages := must(hubapi.Call(ctx, r.owner, rest.ListMessages, rest.MessageQuery{ID: id, Limit: 1}))(t).Messages
	if len(messages) != 1 || messages[0].Content != "The harbour opens at nine." {
		t.Errorf("messages %+v", messages)
	}
	archive := must(hubapi.Call(ctx, r.owner, rest.CompactConversation, rest.Summary{ID: id, Body: rest.Focus{Focus: "times"}}))(t)
	if !strings.Contains(archive.Summary, "Focus: times.") || archive.Messages != 2 {
		t.Errorf("archive %+v", archive)
	}
	_, err := hubapi.Call(ctx, r.owner, rest.CompactConversation, rest.Summary{ID: id})
	refused(t, "nothing to compact", "nothing_to_compact", err)
	if all := must(hubapi.Call(ctx, r.owner, rest.ListArchives, rest.ArchiveQuery{ID: id}))(t).Archives; len(all) != 1 || all[0].ID != archive.ID {
		t.Errorf("archives %+v", all)
	}
	page := must(hubapi.Call(ctx, r.owner, rest.GetArchive, rest.ArchivePageQuery{ID: archive.ID}))(t)
	if len(page.List) != 2 || page.Agent != "parley" || page.Title != archive.Title {
		t.Errorf("page %+v", page)
	}
	if hits := must(hubapi.Call(ctx, r.owner, rest.SearchConversations, rest.SearchQuery{Text: "harbour nine"}))(t).Hits; len(hits) == 0 || hits[0].Conversation != id {
		t.Errorf("hits %+v", hits)
	}
	live := must(hubapi.Call(ctx, r.owner, rest.ListMessages, rest.MessageQuery{ID: id}))(t).Messages
	if len(live) != 1 || !live[0].Summary {
		t.Errorf("the window %+v", live)
	}
	if raw := must(hubapi.Call(ctx, r.owner, rest.ListMessages, rest.MessageQuery{ID: id, Archived: true}))(t).Messages; len(raw) != 2 {
		t.Errorf("from the beginning %+v", raw)
	}

	// Alice sees hers and nobody else's.
	if mine := must(hubapi.Call(ctx, r.alice, rest.ListConversations, rest.ConversationQuery{}))(t).Conversations; len(mine) != 1 || mine[0].Sender != "alice" {
		t.Errorf("alice's list %+v", mine)
	}
	_, err = hubapi.Call(ctx, r.alice, rest.GetConversation, rest.ByID{ID: id})
	refused(t, "alice reading another's", "forbidden", err)
	_, err = hubapi.Call(ctx, r.alice, rest.GetArchive, rest.ArchivePageQuery{ID: archive.ID})
	refused(t, "alice reading another's archive", "forbidden", err)
	refused(t, "alice exporting another's", "forbidden", hubapi.Copy(ctx, r.alice, io.Discard, rest.ExportConversation, rest.ByID{ID: id}))
	_, err = hubapi.Call(ctx, r.alice, rest.RemoveConversation, rest.ByID{ID: id})
	refused(t, "alice removing another's", "forbidden", err)
	if hits := must(hubapi.Call(ctx, r.alice, rest.SearchConversations, rest.SearchQuery{Text: "harbour"}))(t).Hits; len(hits) != 0 {
		t.Errorf("alice finds %+v", hits)
	}

	if _, err := hubapi.Call(ctx, r.owner, rest.RemoveConversation, rest.ByID{ID: id}); err != nil {
		t.Fatal(err)
	}
	_, err = hubapi.Call(ctx, r.owner, rest.GetConversation, rest.ByID{ID: id})
	refused(t, "a removed one", "not_found", err)
}

// The sum is the hub's: the same for everybody who asks, whoever paid the attention.
func TestAConversationTellsWhatItUsed(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	used := func(thread string) *rest.Usage {
		t.Helper()
		for _, c := range must(hubapi.Call(ctx, r.owner, rest.ListConversations, rest.ConversationQuery{Agent: "parley", Sender: "user"}))(t).Conversations {
			if c.Usage != nil {
				t.Error("a list has no sums")
			}
			if c.Thread == thread {
				return must(hubapi.Call(ctx, r.owner, rest.GetConversation, rest.ByID{ID: c.ID}))(t).Usage
			}
		}
		t.Fatal("no such conversation")
		return nil
	}
	check := func(thread string, want rest.Usage) {
		t.Helper()
		if diff := cmp.Diff(&want, used(thread)); diff != "" {
			t.Error(diff)
		}
	}
	dollars := func(d float64) *float64 { return &d }
	r.say(t, r.owner, "parley", "", "/usage 1000 200\n/cost 0.25\n/say one")
	r.say(t, r.owner, "parley", "other", "/usage 7 3\n/cost 0\n/say elsewhere")
	check("", rest.Usage{Prompt: 1000, Completion: 200, Total: 1200, Cost: dollars(0.25), CostKnown: true, Rounds: 1})
	r.say(t, r.owner, "parley", "", "/usage 10 5\n/cost 0.5\n/say two")
	check("", rest.Usage{Prompt: 1010, Completion: 205, Total: 1215, Cost: dollars(0.75), CostKnown: true, Rounds: 2})
	check("other", rest.Usage{Prompt: 7, Completion: 3, Total: 10, Cost: dollars(0), CostKnown: true, Rounds: 1})

	// Summaries are paid for too, every time.
	id := must(hubapi.Call(ctx, r.owner, rest.ListConversations, rest.ConversationQuery{Agent: "parley", Sender: "user"}))(t).Conversations[0].ID
	archive := must(hubapi.Call(ctx, r.owner, rest.CompactConversation, rest.Summary{ID: id}))(t)
	once := used("")
	if once.Rounds != 3 || once.Total <= 1215 {
		t.Errorf("with a summary %+v", once)
	}
	must(hubapi.Call(ctx, r.owner, rest.RedoArchive, rest.Summary{ID: archive.ID}))(t)
	if twice := used(""); twice.Rounds != 4 || twice.Total <= once.Total {
		t.Errorf("with the summary made again %+v", twice)
	}
}

// Export, import, export: byte for byte the same.
func TestExportAndImportOverREST(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.say(t, r.owner, "parley", "", "/say One & <two>.")
	id := must(hubapi.Call(ctx, r.owner, rest.ListConversations, rest.ConversationQuery{Agent: "parley"}))(t).Conversations[0].ID
	must(hubapi.Call(ctx, r.owner, rest.CompactConversation, rest.Summary{ID: id}))(t)
	r.say(t, r.owner, "parley", "", "/say Three.")
	var first bytes.Buffer
	if err := hubapi.Copy(ctx, r.owner, &first, rest.ExportConversation, rest.ByID{ID: id}); err != nil {
		t.Fatal(err)
	}
	_, err := hubapi.Call(ctx, r.owner, rest.ImportConversation, rest.ConversationImport{Body: bytes.NewReader(first.Bytes())})
	refused(t, "importing over messages", "conflict", err)
	dry := must(hubapi.Call(ctx, r.owner, rest.ImportConversation, rest.ConversationImport{Thread: "copy", DryRun: true, Body: bytes.NewReader(first.Bytes())}))(t)
	if dry.ID != "" || dry.Messages != 4 || dry.Archives != 1 {
		t.Errorf("dry run %+v", dry)
	}
	done := must(hubapi.Call(ctx, r.owner, rest.ImportConversation, rest.ConversationImport{Thread: "copy", Body: bytes.NewReader(first.Bytes())}))(t)
	if done.Messages != 4 || done.Archives != 1 || done.Thread != "copy" {
		t.Errorf("imported %+v", done)
	}
	var second bytes.Buffer
	if err := hubapi.Copy(ctx, r.owner, &second, rest.ExportConversation, rest.ByID{ID: done.ID}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.String(), second.String()); diff != "" {
		t.Errorf("the copy differs: %s", diff)
	}
	_, err = hubapi.Call(ctx, r.owner, rest.ImportConversation, rest.ConversationImport{Body: strings.NewReader("")})
	refused(t, "an empty file", "invalid", err)
	_, err = hubapi.Call(ctx, r.owner, rest.ImportConversation, rest.ConversationImport{Body: strings.NewReader("{\"agent\":\"x\"}\n")})
	refused(t, "a file without a sender", "invalid", err)
	_, err = hubapi.Call(ctx, r.alice, rest.ImportConversation, rest.ConversationImport{Body: bytes.NewReader(first.Bytes())})
	refused(t, "alice importing as user", "forbidden", err)
}

func TestModelsProvidersAndSkillsOverREST(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	models, err := hubapi.Call(ctx, r.owner, rest.ListModels, rest.None{})
	if err != nil || models.Active == "" || len(models.Models) == 0 {
		t.Errorf("models %+v %v", models, err)
	}
	if providers := must(hubapi.Call(ctx, r.owner, rest.ListProviders, rest.None{}))(t).Providers; len(providers) == 0 || providers[0].HasKey {
		t.Errorf("providers %+v", providers)
	}
	token := must(hubapi.Call(ctx, r.owner, rest.CreateToken, rest.TokenRequest{Principal: "bob", Scopes: []string{"task:read"}}))(t)
	stranger := hubapi.WithTransport(r.url, token.Token, r.client)
	must(hubapi.Call(ctx, r.alice, rest.ListSkills, rest.None{}))(t)
	_, err = hubapi.Call(ctx, stranger, rest.ListSkills, rest.None{})
	refused(t, "no talk scope", "insufficient_scope", err)
}

func TestWhatToolsDidIsToldWithTheNumberOfItsMessage(t *testing.T) {
	r := newRig(t)
	must(hubapi.Call(t.Context(), r.owner, rest.CreateAgent, rest.Agent{"name": "reader", "prompt": "You read.", "tools": []string{"files"}}))(t)
	r.say(t, r.alice, "reader", "", "/say Let me look.\n/tool file_list {}\n/tool file_read {\"path\":\"none\"}\n/say Done.")
	list := must(hubapi.Call(t.Context(), r.alice, rest.ListConversations, rest.ConversationQuery{Agent: "reader"}))(t).Conversations
	q := rest.ToolUseQuery{ID: list[0].ID}
	got := must(hubapi.Call(t.Context(), r.alice, rest.ListToolUses, q))(t)
	if len(got.Tools) != 2 || got.Truncated {
		t.Fatalf("%+v; want len(got.Tools) to be 2, not got.Truncated", got)
	}
	first, second := got.Tools[0], got.Tools[1]
	if first.Name != "file_list" || first.Failed || !first.Answered || first.Seq < 2 || first.Run == "" || first.Call == "" {
		t.Errorf("%+v", first)
	}
	if second.Name != "file_read" || !second.Failed || second.Output == "" || !strings.Contains(second.Arguments, "none") {
		t.Errorf("%+v; want second.Name to be \"file_read\", second.Failed, second.Output not to be \"\", \"none\" in it", second)
	}
	// Only what lies between the numbers, and only for whoever may read it.
	q.After = 1000
	if got := must(hubapi.Call(t.Context(), r.alice, rest.ListToolUses, q))(t); len(got.Tools) != 0 {
		t.Errorf("after the last message tools did %+v, want nothing", got)
	}
	token := must(hubapi.Call(t.Context(), r.owner, rest.CreateToken, rest.TokenRequest{Name: "b", Principal: "bob", Scopes: []string{"talk"}}))(t)
	bob := hubapi.WithTransport(r.url, token.Token, r.client)
	if _, err := hubapi.Call(t.Context(), bob, rest.ListToolUses, q); err == nil {
		t.Error("somebody else reads it")
	}
}
