package api_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/client/agentfirst"
	"parley/client/hubapi"
	"parley/internal/hub"
	"parley/internal/hub/config"
	wire "parley/protocol/agentfirst"
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
	token := must(owner.CreateToken(t.Context(), hubapi.TokenRequest{Name: "a", Principal: "alice", Scopes: []string{"talk"}}))(t)
	return &rig{dir: dir, url: server.URL, client: server.Client().Transport, owner: owner, alice: hubapi.WithTransport(server.URL, token.Token, server.Client().Transport)}
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
	made := must(r.owner.CreateAgent(ctx, hubapi.Agent{"name": "scout", "prompt": "You look around.", "tools": []string{"files"}}))(t)
	if made.Text("name") != "scout" || made.Text("prompt") != "You look around." {
		t.Errorf("made %v", made)
	}
	file := filepath.Join(r.dir, "agents", "scout.md")
	onDisk := string(must(os.ReadFile(file))(t))
	if text := must(r.owner.AgentFile(ctx, "scout"))(t); text != onDisk || !strings.Contains(text, "tools: [files]") {
		t.Errorf("file %q, on disk %q", text, onDisk)
	}
	changed := must(r.owner.UpdateAgent(ctx, "scout", hubapi.Agent{"max_iterations": 3, "tools": nil}))(t)
	if changed["max_iterations"] != 3.0 || changed.Text("prompt") != "You look around." {
		t.Errorf("changed %v", changed)
	}
	must(r.owner.PutAgentFile(ctx, "scout", "---\nmodel: offline\n---\nYou wander.\n"))(t)
	if got := must(r.owner.Agent(ctx, "scout"))(t); got.Text("model") != "offline" || got.Text("description") != "You wander." {
		t.Errorf("got %v", got)
	}
	_, err := r.owner.PutAgentFile(ctx, "scout", "---\nmodell: x\n---\n")
	refused(t, "a mistake in the file", "invalid", err)
	if !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "model") {
		t.Errorf("the error does not help: %v", err)
	}
	_, err = r.owner.CreateAgent(ctx, hubapi.Agent{"name": "scout"})
	refused(t, "a second of that name", "conflict", err)
	_, err = r.owner.CreateAgent(ctx, hubapi.Agent{"prompt": "x"})
	refused(t, "no name", "bad_request", err)
	_, err = r.owner.CreateAgent(ctx, hubapi.Agent{"name": "../evil"})
	refused(t, "a path for a name", "invalid", err)

	// Others see agents but not their prompts, and change nothing.
	if got := must(r.alice.Agent(ctx, "scout"))(t); got.Text("prompt") != "" || got.Text("model") != "offline" {
		t.Errorf("alice sees %v", got)
	}
	_, err = r.alice.UpdateAgent(ctx, "scout", hubapi.Agent{"model": "x"})
	refused(t, "alice changing an agent", "insufficient_scope", err)
	_, err = r.alice.AgentFile(ctx, "scout")
	refused(t, "alice reading a file", "insufficient_scope", err)

	if err := r.owner.RemoveAgent(ctx, "scout"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	_, err = r.owner.Agent(ctx, "scout")
	refused(t, "a removed agent", "agent_not_found", err)
	if len(must(r.alice.Agents(ctx))(t)) == 0 {
		t.Error("no first agents")
	}
}

func TestConversationsOverREST(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.say(t, r.owner, "parley", "", "/say The harbour opens at nine.")
	r.say(t, r.alice, "parley", "", "/say Alice's secret.")
	list := must(r.owner.Conversations(ctx, "parley", "user"))(t)
	if len(list) != 1 || list[0].Messages != 2 || list[0].Sender != "user" {
		t.Fatalf("list %+v", list)
	}
	id := list[0].ID
	if got := must(r.owner.RenameConversation(ctx, id, "Harbour"))(t); got.Title != "Harbour" {
		t.Errorf("renamed %+v", got)
	}
	messages := must(r.owner.Messages(ctx, id, hubapi.MessageQuery{Limit: 1}))(t)
	if len(messages) != 1 || messages[0].Content != "The harbour opens at nine." {
		t.Errorf("messages %+v", messages)
	}
	archive := must(r.owner.Compact(ctx, id, "times"))(t)
	if !strings.Contains(archive.Summary, "Focus: times.") || archive.Messages != 2 {
		t.Errorf("archive %+v", archive)
	}
	_, err := r.owner.Compact(ctx, id, "")
	refused(t, "nothing to compact", "nothing_to_compact", err)
	if all := must(r.owner.Archives(ctx, id))(t); len(all) != 1 || all[0].ID != archive.ID {
		t.Errorf("archives %+v", all)
	}
	page := must(r.owner.Archive(ctx, archive.ID))(t)
	if len(page.Messages) != 2 || page.Agent != "parley" || page.Title != archive.Title {
		t.Errorf("page %+v", page)
	}
	if hits := must(r.owner.SearchConversations(ctx, hubapi.SearchQuery{Text: "harbour nine"}))(t); len(hits) == 0 || hits[0].Conversation != id {
		t.Errorf("hits %+v", hits)
	}
	live := must(r.owner.Messages(ctx, id, hubapi.MessageQuery{}))(t)
	if len(live) != 1 || !live[0].Summary {
		t.Errorf("the window %+v", live)
	}
	if raw := must(r.owner.Messages(ctx, id, hubapi.MessageQuery{Archived: true}))(t); len(raw) != 2 {
		t.Errorf("from the beginning %+v", raw)
	}

	// Alice sees hers and nobody else's.
	if mine := must(r.alice.Conversations(ctx, "", ""))(t); len(mine) != 1 || mine[0].Sender != "alice" {
		t.Errorf("alice's list %+v", mine)
	}
	_, err = r.alice.Conversation(ctx, id)
	refused(t, "alice reading another's", "forbidden", err)
	_, err = r.alice.Archive(ctx, archive.ID)
	refused(t, "alice reading another's archive", "forbidden", err)
	refused(t, "alice exporting another's", "forbidden", r.alice.ExportConversation(ctx, id, &bytes.Buffer{}))
	refused(t, "alice removing another's", "forbidden", r.alice.RemoveConversation(ctx, id))
	if hits := must(r.alice.SearchConversations(ctx, hubapi.SearchQuery{Text: "harbour"}))(t); len(hits) != 0 {
		t.Errorf("alice finds %+v", hits)
	}

	if err := r.owner.RemoveConversation(ctx, id); err != nil {
		t.Fatal(err)
	}
	_, err = r.owner.Conversation(ctx, id)
	refused(t, "a removed one", "not_found", err)
}

// The sum is the hub's: the same for everybody who asks, whoever paid the attention.
func TestAConversationTellsWhatItUsed(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	used := func(thread string) *hubapi.Usage {
		t.Helper()
		for _, c := range must(r.owner.Conversations(ctx, "parley", "user"))(t) {
			if c.Usage != nil {
				t.Error("a list has no sums")
			}
			if c.Thread == thread {
				return must(r.owner.Conversation(ctx, c.ID))(t).Usage
			}
		}
		t.Fatal("no such conversation")
		return nil
	}
	check := func(thread string, want hubapi.Usage) {
		t.Helper()
		if diff := cmp.Diff(&want, used(thread)); diff != "" {
			t.Error(diff)
		}
	}
	dollars := func(d float64) *float64 { return &d }
	r.say(t, r.owner, "parley", "", "/usage 1000 200\n/cost 0.25\n/say one")
	r.say(t, r.owner, "parley", "other", "/usage 7 3\n/cost 0\n/say elsewhere")
	check("", hubapi.Usage{Prompt: 1000, Completion: 200, Total: 1200, Cost: dollars(0.25), CostKnown: true, Rounds: 1})
	r.say(t, r.owner, "parley", "", "/usage 10 5\n/cost 0.5\n/say two")
	check("", hubapi.Usage{Prompt: 1010, Completion: 205, Total: 1215, Cost: dollars(0.75), CostKnown: true, Rounds: 2})
	check("other", hubapi.Usage{Prompt: 7, Completion: 3, Total: 10, Cost: dollars(0), CostKnown: true, Rounds: 1})

	// Summaries are paid for too, every time.
	id := must(r.owner.Conversations(ctx, "parley", "user"))(t)[0].ID
	archive := must(r.owner.Compact(ctx, id, ""))(t)
	once := used("")
	if once.Rounds != 3 || once.Total <= 1215 {
		t.Errorf("with a summary %+v", once)
	}
	must(r.owner.RedoArchive(ctx, archive.ID, ""))(t)
	if twice := used(""); twice.Rounds != 4 || twice.Total <= once.Total {
		t.Errorf("with the summary made again %+v", twice)
	}
}

// Export, import, export: byte for byte the same.
func TestExportAndImportOverREST(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	r.say(t, r.owner, "parley", "", "/say One & <two>.")
	id := must(r.owner.Conversations(ctx, "parley", ""))(t)[0].ID
	must(r.owner.Compact(ctx, id, ""))(t)
	r.say(t, r.owner, "parley", "", "/say Three.")
	var first bytes.Buffer
	if err := r.owner.ExportConversation(ctx, id, &first); err != nil {
		t.Fatal(err)
	}
	_, err := r.owner.ImportConversation(ctx, bytes.NewReader(first.Bytes()), hubapi.ImportTarget{})
	refused(t, "importing over messages", "conflict", err)
	dry := must(r.owner.ImportConversation(ctx, bytes.NewReader(first.Bytes()), hubapi.ImportTarget{Thread: "copy", DryRun: true}))(t)
	if dry.ID != "" || dry.Messages != 4 || dry.Archives != 1 {
		t.Errorf("dry run %+v", dry)
	}
	done := must(r.owner.ImportConversation(ctx, bytes.NewReader(first.Bytes()), hubapi.ImportTarget{Thread: "copy"}))(t)
	if done.Messages != 4 || done.Archives != 1 || done.Thread != "copy" {
		t.Errorf("imported %+v", done)
	}
	var second bytes.Buffer
	if err := r.owner.ExportConversation(ctx, done.ID, &second); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.String(), second.String()); diff != "" {
		t.Errorf("the copy differs: %s", diff)
	}
	_, err = r.owner.ImportConversation(ctx, strings.NewReader(""), hubapi.ImportTarget{})
	refused(t, "an empty file", "invalid", err)
	_, err = r.owner.ImportConversation(ctx, strings.NewReader("{\"agent\":\"x\"}\n"), hubapi.ImportTarget{})
	refused(t, "a file without a sender", "invalid", err)
	_, err = r.alice.ImportConversation(ctx, bytes.NewReader(first.Bytes()), hubapi.ImportTarget{})
	refused(t, "alice importing as user", "forbidden", err)
}

func TestModelsProvidersAndSkillsOverREST(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	active, models, err := r.owner.Models(ctx)
	if err != nil || active == "" || len(models) == 0 {
		t.Errorf("models %v %v %v", active, models, err)
	}
	if providers := must(r.owner.Providers(ctx))(t); len(providers) == 0 || providers[0].HasKey {
		t.Errorf("providers %+v", providers)
	}
	token := must(r.owner.CreateToken(ctx, hubapi.TokenRequest{Principal: "bob", Scopes: []string{"task:read"}}))(t)
	stranger := hubapi.WithTransport(r.url, token.Token, r.client)
	must(r.alice.Skills(ctx))(t)
	_, err = stranger.Skills(ctx)
	refused(t, "no talk scope", "insufficient_scope", err)
}

func TestWhatToolsDidIsToldWithTheNumberOfItsMessage(t *testing.T) {
	r := newRig(t)
	must(r.owner.CreateAgent(t.Context(), hubapi.Agent{"name": "reader", "prompt": "You read.", "tools": []string{"files"}}))(t)
	r.say(t, r.alice, "reader", "", "/say Let me look.\n/tool file_list {}\n/tool file_read {\"path\":\"none\"}\n/say Done.")
	list := must(r.alice.Conversations(t.Context(), "reader", ""))(t)
	var got struct {
		Tools []struct {
			Seq          int64
			Name, Output string
			CallID       string `json:"call_id"`
			RunID        string `json:"run_id"`
			Failed       bool
			Answered     bool
			Arguments    string
			LeftOut      int `json:"left_out_bytes"`
		}
		Truncated bool
	}
	path := "/api/conversations/" + list[0].ID + "/tools"
	if err := r.alice.Do(t.Context(), "GET", path, nil, nil, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) != 2 || got.Truncated {
		t.Fatalf("%+v", got)
	}
	first, second := got.Tools[0], got.Tools[1]
	if first.Name != "file_list" || first.Failed || !first.Answered || first.Seq < 2 || first.RunID == "" || first.CallID == "" {
		t.Errorf("%+v", first)
	}
	if second.Name != "file_read" || !second.Failed || second.Output == "" || !strings.Contains(second.Arguments, "none") {
		t.Errorf("%+v", second)
	}
	// Only what lies between the numbers, and only for whoever may read it.
	if err := r.alice.Do(t.Context(), "GET", path, url.Values{"after": {"1000"}}, nil, &got); err != nil || len(got.Tools) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	token := must(r.owner.CreateToken(t.Context(), hubapi.TokenRequest{Name: "b", Principal: "bob", Scopes: []string{"talk"}}))(t)
	bob := hubapi.WithTransport(r.url, token.Token, r.client)
	if err := bob.Do(t.Context(), "GET", path, nil, nil, &got); err == nil {
		t.Error("somebody else reads it")
	}
}
