package clients_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/acp"
	"parley.internal/test/hubtest"
)

// editor drives parley acp as an editor would.
type editor struct {
	t     testing.TB
	in    io.WriteCloser
	lines chan acp.Message
	next  int
	// answers chooses an option of a permission request; nil leaves it open.
	answers func(acp.PermissionRequest) string
	text    strings.Builder
	thought strings.Builder
	user    strings.Builder
	tools   []acp.Change
	asked   []acp.PermissionRequest
}

func (s *site) editor(token string) *editor {
	s.t.Helper()
	cmd := hubtest.Command(s.t, "acp", "helper", "--hub", s.URL, "--token", token)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	e := &editor{t: s.t, in: in, lines: make(chan acp.Message, 10_000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(e.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m, err := acp.Decode(lines.Bytes()); err == nil {
				e.lines <- m
			}
		}
	}()
	s.t.Cleanup(func() {
		_ = in.Close()
		<-read
		_ = cmd.Wait()
	})
	return e
}

func (e *editor) write(m acp.Message) {
	e.t.Helper()
	line, err := acp.Encode(m)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.in.Write(line); err != nil {
		e.t.Fatal(err)
	}
}

// begin sends a request; answer reads up to its answer.
func (e *editor) begin(method string, params any) string {
	e.t.Helper()
	raw, err := acp.Raw(params)
	if err != nil {
		e.t.Fatal(err)
	}
	e.next++
	id := jsontext.Value([]byte{'"', byte('a' + e.next), '"'})
	e.write(acp.Message{ID: id, Method: method, Params: raw})
	return string(id)
}

func (e *editor) answer(id string) (got acp.Message) {
	e.t.Helper()
	e.read(func(m acp.Message) bool {
		got = m
		return m.Answer() && string(m.ID) == id
	})
	return got
}

// hear reads until the agent has had a thought with these words.
func (e *editor) hear(words string) {
	e.t.Helper()
	e.read(func(acp.Message) bool { return strings.Contains(e.thought.String(), words) })
}

func (e *editor) read(enough func(acp.Message) bool) {
	e.t.Helper()
	for m := range e.lines {
		switch m.Method {
		case acp.Update:
			e.update(m)
		case acp.RequestPermission:
			e.permission(m)
		}
		if enough(m) {
			return
		}
	}
	e.t.Fatal("parley acp ended")
}

func (e *editor) update(m acp.Message) {
	u, err := acp.Read[acp.SessionUpdate](m.Params)
	if err != nil {
		e.t.Fatal(err)
	}
	block, _ := acp.Read[acp.Block](u.Update.Content)
	switch u.Update.Kind {
	case acp.AgentText:
		e.text.WriteString(block.Text)
	case acp.AgentThought:
		e.thought.WriteString(block.Text)
	case acp.UserText:
		e.user.WriteString(block.Text)
	default:
		e.tools = append(e.tools, u.Update)
	}
}

func (e *editor) permission(m acp.Message) {
	e.t.Helper()
	req, err := acp.Read[acp.PermissionRequest](m.Params)
	if err != nil {
		e.t.Fatal(err)
	}
	e.asked = append(e.asked, req)
	if e.answers == nil {
		return
	}
	raw, err := acp.Raw(acp.PermissionResponse{Outcome: acp.Outcome{Outcome: acp.OutcomeSelected, Option: e.answers(req)}})
	if err != nil {
		e.t.Fatal(err)
	}
	e.write(acp.Message{ID: m.ID, Result: raw})
}

func (e *editor) session() string {
	e.t.Helper()
	e.answer(e.begin(acp.Initialize, acp.InitializeRequest{Version: acp.Version}))
	s, err := acp.Read[acp.SessionResponse](e.answer(e.begin(acp.NewSession, acp.SessionRequest{Dir: "/"})).Result)
	if err != nil || s.Session == "" {
		e.t.Fatalf("no session: %v", err)
	}
	return s.Session
}

func text(session, words string) acp.PromptRequest {
	return acp.PromptRequest{Session: session, Prompt: []acp.Block{{Type: "text", Text: words}}}
}

func (e *editor) prompt(session, words string) acp.PromptResponse {
	e.t.Helper()
	m := e.answer(e.begin(acp.Prompt, text(session, words)))
	if m.Error != nil {
		e.t.Fatalf("the prompt failed: %v", m.Error)
	}
	r, err := acp.Read[acp.PromptResponse](m.Result)
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

// An editor has a conversation with an agent of the hub, which outlives the editor.
func TestAnEditorTalksWithAnAgent(t *testing.T) {
	s := newSite(t)
	e := s.editor(s.Owner)
	id := e.session()
	if r := e.prompt(id, "/usage 4 2\n/say Hello\n/tool remember {\"name\":\"tea\",\"text\":\"green\"}\n/say editor."); r.Reason != acp.EndTurn || r.Usage == nil || r.Usage.Output == 0 {
		t.Errorf("it ended with %+v", r)
	}
	if got := e.text.String(); !strings.Contains(got, "Hello") || !strings.Contains(got, "editor.") {
		t.Errorf("the editor shows %q", got)
	}
	if len(e.tools) != 2 || e.tools[0].Kind != acp.ToolCallBegan || e.tools[1].Status != acp.StatusCompleted {
		t.Errorf("the editor shows the tools %+v", e.tools)
	}
	again := s.editor(s.Owner)
	again.answer(again.begin(acp.LoadSession, acp.SessionRequest{Session: id, Dir: "/"}))
	if !strings.Contains(again.user.String(), "/say Hello") || !strings.Contains(again.text.String(), "editor.") {
		t.Errorf("loaded again it shows %q and %q", again.user.String(), again.text.String())
	}
	if m := again.answer(again.begin(acp.LoadSession, acp.SessionRequest{Session: "editor-nowhere"})); m.Error == nil {
		t.Error("a session that never was is loaded")
	}
	again.text.Reset()
	again.prompt(id, "/context")
	if !strings.Contains(again.text.String(), "Hello") {
		t.Errorf("the agent has forgotten: %q", again.text.String())
	}
}

// What needs a person is asked in the editor and in the inbox; the first answer counts, and whoever may
// not answer at the hub may not in the editor.
func TestAnEditorIsAskedBesideTheInbox(t *testing.T) {
	s := newSite(t)
	const script = "/tool shell {\"command\":\"touch here\"}\n/result\n/say done"
	e := s.editor(s.Owner)
	e.answers = func(req acp.PermissionRequest) string {
		if !strings.Contains(req.ToolCall.Title, "touch here") {
			t.Errorf("the question does not show the command: %+v", req)
		}
		return req.Options[1].ID
	}
	id := e.session()
	e.prompt(id, script)
	if got := e.text.String(); !strings.Contains(got, "rejected") || len(e.asked) != 1 {
		t.Errorf("after a no in the editor: %q, asked %d times", got, len(e.asked))
	}
	e.answers = func(req acp.PermissionRequest) string { return req.Options[0].ID }
	e.text.Reset()
	e.prompt(id, script)
	if got := e.text.String(); strings.Contains(got, "rejected") || !strings.Contains(got, "done") {
		t.Errorf("after a yes in the editor: %q", got)
	}
	// Answered in the inbox, the editor's answer is not waited for.
	e.answers = nil
	prompt := e.begin(acp.Prompt, text(id, script))
	s.answer(true)
	if m := e.answer(prompt); m.Error != nil {
		t.Errorf("after a yes in the inbox: %v", m.Error)
	}
	// A token that may only talk is told that it waits.
	only := s.editor(s.Token("talk"))
	only.answers = func(req acp.PermissionRequest) string { return req.Options[0].ID }
	session := only.session()
	prompt = only.begin(acp.Prompt, text(session, script))
	only.hear("cannot be answered from here")
	s.answer(true)
	only.answer(prompt)
	if len(only.asked) != 0 {
		t.Errorf("with a token that may only talk the editor was asked %d times", len(only.asked))
	}
}

// A cancel ends the turn at the hub, and questions with it.
func TestAnEditorCancels(t *testing.T) {
	s := newSite(t)
	e := s.editor(s.Owner)
	id := e.session()
	prompt := e.begin(acp.Prompt, text(id, "/tool shell {\"command\":\"touch never\"}"))
	s.question()
	raw, err := acp.Raw(acp.CancelNotification{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	e.write(acp.Message{Method: acp.Cancel, Params: raw})
	r, err := acp.Read[acp.PromptResponse](e.answer(prompt).Result)
	if err != nil || r.Reason != acp.Cancelled {
		t.Errorf("it ended with %+v %v", r, err)
	}
	hubtest.Eventually(t, "the question is withdrawn", func() bool { return !strings.Contains(string(s.Do("GET", "/api/approvals", "").Body), "touch never") })
}
