package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/acp"
	wire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
)

// turn is one prompt as it runs.
type turn struct {
	b       *Bridge
	session string
	// waiting are the approvals that the editor is asked about, by id: resolved elsewhere, the
	// editor's answer is no longer waited for.
	mu      sync.Mutex
	waiting map[string]context.CancelFunc
	asking  sync.WaitGroup
}

// prompt says something and tells what happens.
func (b *Bridge) prompt(ctx context.Context, m acp.Message) (any, error) {
	req, err := acp.Read[acp.PromptRequest](m.Params)
	if err != nil {
		return nil, err
	}
	text := words(req.Prompt)
	if strings.TrimSpace(text) == "" {
		return nil, &acp.Error{Code: acp.CodeInvalidParams, Message: "nothing is said"}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := b.occupy(req.Session, cancel)
	if err != nil {
		return nil, err
	}
	defer b.release(s)
	t := &turn{b: b, session: s.id, waiting: map[string]context.CancelFunc{}}
	defer t.asking.Wait()
	defer cancel() // questions that are still open end with the prompt
	say := &wire.Turn{Agent: b.Agent, Thread: s.id, Content: text}
	if s.dir != "" {
		say.Cwd = &s.dir
	}
	for ev, err := range b.Talk.Stream(ctx, say) {
		if ctx.Err() != nil {
			return acp.PromptResponse{Reason: acp.Cancelled}, nil
		}
		if err != nil {
			return nil, err
		}
		if end := ev.GetEnd(); end != nil {
			return ended(end)
		}
		t.hear(ctx, ev)
	}
	if ctx.Err() != nil {
		return acp.PromptResponse{Reason: acp.Cancelled}, nil
	}
	return nil, errors.New("the hub ended the turn without a word")
}

// occupy lets one prompt at a time run in a session, as the protocol has it.
func (b *Bridge) occupy(id string, cancel context.CancelFunc) (*session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	switch {
	case s == nil:
		return nil, &acp.Error{Code: acp.CodeNotFound, Message: "there is no session " + strconv.Quote(id) + ": begin or load it first"}
	case s.cancel != nil:
		return nil, &acp.Error{Code: acp.CodeInvalidRequest, Message: "a prompt is running in this session"}
	}
	s.cancel = cancel
	return s, nil
}

func (b *Bridge) release(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.cancel = nil
}

// words is a prompt as text. What an editor only points at is named; the agent sees what is on the hub.
func words(blocks []acp.Block) string {
	var parts []string
	for _, block := range blocks {
		switch block.Type {
		case "text":
			parts = append(parts, block.Text)
		case "resource_link":
			parts = append(parts, "["+block.Name+"]("+block.URI+")")
		case "resource":
			r, err := acp.Read[struct {
				URI  string `json:"uri"`
				Text string `json:"text"`
			}](block.Resource)
			if err == nil && r.Text != "" {
				parts = append(parts, r.URI+":\n\n"+r.Text)
			}
		}
	}
	return strings.Join(parts, "\n\n")
}

func ended(end *wire.StreamEnd) (any, error) {
	if end.GetError() != "" {
		return nil, &acp.Error{Code: acp.CodeInternal, Message: end.GetError()}
	}
	out := acp.PromptResponse{Reason: acp.EndTurn}
	if u := end.GetUsage(); u != nil {
		out.Usage = &acp.Usage{Input: int64(u.GetPromptTokens()), Output: int64(u.GetCompletionTokens()), Total: int64(u.GetTotalTokens())}
	}
	return out, nil
}

// hear tells the editor of one event.
func (t *turn) hear(ctx context.Context, ev *wire.StreamEvent) {
	switch {
	case ev.GetChunk() != nil:
		t.b.tellText(t.session, acp.AgentText, ev.GetChunk().GetContent())
	case ev.GetThinking() != nil:
		t.b.tellText(t.session, acp.AgentThought, ev.GetThinking().GetContent())
	case ev.GetNotice() != nil:
		t.b.tellText(t.session, acp.AgentThought, "["+ev.GetNotice().GetText()+"]\n")
	case ev.GetToolStart() != nil:
		for _, call := range ev.GetToolStart().GetCalls() {
			if call.GetArguments() != "" { // the first word of a call has its name only
				t.b.tell(t.session, acp.Change{Kind: acp.ToolCallBegan, ToolCall: acp.ToolCall{
					ID: call.GetCallId(), Title: call.GetName(), Tool: kindOf(call.GetName()), Status: acp.StatusRunning, Input: object(call.GetArguments()),
				}})
			}
		}
	case ev.GetToolResult() != nil:
		t.result(ev.GetToolResult())
	case ev.GetWaiting() != nil:
		t.waits(ctx, ev.GetWaiting())
	case ev.GetAskUser() != nil:
		t.question(ctx, ev.GetAskUser())
	}
}

func (t *turn) result(r *wire.ToolResult) {
	status := acp.StatusCompleted
	if r.GetIsError() {
		status = acp.StatusFailed
	}
	content, err := acp.Raw([]acp.ToolContent{{Type: "content", Content: &acp.Block{Type: "text", Text: r.GetOutput()}}})
	if err == nil {
		t.b.tell(t.session, acp.Change{Kind: acp.ToolCallUpdate, ToolCall: acp.ToolCall{ID: r.GetCallId(), Status: status}, Content: content})
	}
}

// kindOf is how an editor shows a tool.
func kindOf(tool string) string {
	switch {
	case tool == "shell" || strings.HasPrefix(tool, "terminal_"):
		return acp.KindExecute
	case tool == "file_write" || tool == "file_edit":
		return acp.KindEdit
	case strings.HasPrefix(tool, "file_"):
		return acp.KindRead
	case strings.HasPrefix(tool, "web_"):
		return acp.KindFetch
	default:
		return acp.KindOther
	}
}

// object is a tool's arguments, if they are what they should be.
func object(text string) jsontext.Value {
	if v := jsontext.Value(text); v.IsValid() {
		return v
	}
	return nil
}

const (
	allow  = "allow"
	reject = "reject"
)

// waits asks the person at the editor about a call that waits in the inbox. Whoever answers first is
// heard; resolved elsewhere, the editor's answer counts no more.
func (t *turn) waits(ctx context.Context, w *wire.Waiting) {
	id := w.GetApprovalId()
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.GetResolved() != "" {
		if stop := t.waiting[id]; stop != nil {
			stop()
			delete(t.waiting, id)
		}
		t.b.tellText(t.session, acp.AgentThought, fmt.Sprintf("[%s: %s]\n", w.GetTool(), w.GetResolved()))
		return
	}
	if t.b.Hub == nil {
		t.b.tellText(t.session, acp.AgentThought, fmt.Sprintf("[a person must allow %s %s: see the inbox of the hub]\n", w.GetTool(), w.GetSummary()))
		return
	}
	asking, stop := context.WithCancel(ctx)
	t.waiting[id] = stop
	t.asking.Go(func() { t.permit(asking, w) })
}

func (t *turn) permit(ctx context.Context, w *wire.Waiting) {
	// The event has the beginning of it; whoever says yes sees all.
	item, err := hubapi.Call(ctx, t.b.Hub, rest.GetApproval, rest.ByID{ID: w.GetApprovalId()})
	if err != nil {
		t.notHere(ctx, err)
		return
	}
	m, ok := t.b.ask(ctx, acp.RequestPermission, acp.PermissionRequest{
		Session: t.session, ToolCall: acp.PermissionSubject{ToolCall: acp.ToolCall{
			ID: "approval-" + item.ID, Title: item.Tool + " " + shown(string(item.Arguments)), Tool: kindOf(item.Tool), Status: acp.StatusPending, Input: object(string(item.Arguments)),
		}},
		Options: []acp.Option{{ID: allow, Name: "Allow this once", Kind: acp.AllowOnce}, {ID: reject, Name: "Reject", Kind: acp.RejectOnce}},
	})
	if !ok {
		return // answered elsewhere, cancelled, or an editor that cannot ask
	}
	answer, err := acp.Read[acp.PermissionResponse](m.Result)
	if err != nil || answer.Outcome.Outcome != acp.OutcomeSelected || answer.Outcome.Option != allow && answer.Outcome.Option != reject {
		return
	}
	_, err = hubapi.Call(ctx, t.b.Hub, rest.AnswerApproval, rest.ApprovalAnswer{ID: item.ID, Body: rest.Answer{Approved: answer.Outcome.Option == allow}})
	t.notHere(ctx, err)
}

// notHere says that the hub does not take an answer from this person with this token.
func (t *turn) notHere(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		t.b.tellText(t.session, acp.AgentThought, "[it waits in the inbox of the hub and cannot be answered from here: "+err.Error()+"]\n")
	}
}

// shown writes out what a person would not see.
func shown(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "\\u{%X}", r)
		}
	}
	return out.String()
}

// question puts a question of the agent's with answers to choose from; others wait in the inbox.
func (t *turn) question(ctx context.Context, q *wire.AskUser) {
	parts := q.GetQuestions()
	if len(parts) != 1 || len(parts[0].GetOptions()) == 0 || parts[0].GetMultiSelect() {
		t.b.tellText(t.session, acp.AgentThought, "[a question waits for you in the inbox of the hub]\n")
		return
	}
	options := make([]acp.Option, len(parts[0].GetOptions()))
	for i, o := range parts[0].GetOptions() {
		options[i] = acp.Option{ID: strconv.Itoa(i), Name: o.GetLabel(), Kind: acp.AllowOnce}
	}
	t.asking.Go(func() {
		m, ok := t.b.ask(ctx, acp.RequestPermission, acp.PermissionRequest{
			Session: t.session, Options: options,
			ToolCall: acp.PermissionSubject{ToolCall: acp.ToolCall{ID: "ask-" + q.GetAskId(), Title: parts[0].GetQuestion(), Tool: acp.KindThink, Status: acp.StatusPending}},
		})
		answer, err := acp.Read[acp.PermissionResponse](m.Result)
		n, bad := strconv.Atoi(answer.Outcome.Option)
		if !ok || err != nil || bad != nil || n < 0 || n >= len(options) {
			return
		}
		_ = t.b.Talk.ReplyToAsk(ctx, &wire.ReplyToAsk{Agent: t.b.Agent, Thread: t.session, AskId: q.GetAskId(), Content: options[n].Name}) // answered elsewhere meanwhile
	})
}
