package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"parley/internal/brain/model"
	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/internal/talk"
	"parley/internal/talk/memory"
	"parley/protocol/agentfirst"
)

// RegisterConversations adds what was said and what is remembered.
func RegisterConversations(a *API, t talk.API) {
	c := conversationRoutes{t, a}
	at := func(method, path, summary string, status int) route {
		return route{Method: method, Path: path, Tag: "conversations", Summary: summary, Status: status}
	}
	add(a, at("GET", "/api/conversations", "List conversations, newest activity first", 0), c.list)
	add(a, at("GET", "/api/conversations/search", "Find messages, archives and notes", 0), c.search)
	add(a, at("GET", "/api/conversations/{id}", "One conversation", 0), c.get)
	add(a, at("PATCH", "/api/conversations/{id}", "Give it another title", 0), c.rename)
	add(a, at("DELETE", "/api/conversations/{id}", "Remove it and everything in it", http.StatusNoContent), c.remove)
	add(a, at("GET", "/api/conversations/{id}/messages", "What was said, oldest first", 0), c.messages)
	add(a, at("GET", "/api/conversations/{id}/tools", "What its tools did, oldest first", 0), c.tools)
	add(a, at("GET", "/api/conversations/{id}/archives", "Its archives, oldest first", 0), c.archives)
	add(a, at("POST", "/api/conversations/{id}/compact", "Archive the window behind a summary", 0), c.compact)
	addRaw(a, rawRoute{at("GET", "/api/conversations/{id}/export", "All of it as JSON lines", 0), "application/jsonl"}, c.export)
	restore := at("POST", "/api/conversations/import", "Store a conversation from JSON lines; query: agent, sender, thread, append, dry_run", 0)
	restore.MaxBody = maxImport
	addRaw(a, rawRoute{restore, "application/json"}, c.importFile)
	add(a, at("GET", "/api/archives/{id}", "An archive and its raw messages", 0), c.archive)
	registerShares(a, c)
	add(a, at("POST", "/api/archives/{id}/redo", "Summarise it again from its raw messages", 0), c.redo)
}

type conversationRoutes struct {
	talk talk.API
	api  *API
}

// conversationView is a conversation in JSON. FilePath is its handle on the wire.
type conversationView struct {
	ID       string    `json:"id"`
	FilePath string    `json:"file_path"`
	Agent    string    `json:"agent"`
	Sender   string    `json:"sender"`
	Thread   string    `json:"thread"`
	Number   int64     `json:"seq" doc:"1 for the main thread of its pair"`
	Title    string    `json:"title"`
	Messages int64     `json:"message_count"`
	Live     int64     `json:"live_count" doc:"messages in the window"`
	Loaded   time.Time `json:"loaded_at,omitzero"`
	Created  time.Time `json:"created_at"`
	Last     time.Time `json:"last_at"`
	// Usage is in the answer about one conversation: a list would have to sum all of them.
	Usage *usageView `json:"usage,omitempty" doc:"what its turns and its summaries used so far; only when one conversation is asked for"`
}

// usageView is a use of models in JSON.
type usageView struct {
	Prompt     int64    `json:"prompt_tokens"`
	Completion int64    `json:"completion_tokens"`
	Total      int64    `json:"total_tokens"`
	Cost       *float64 `json:"cost_usd,omitempty" doc:"absent while no price is known of any of it"`
	CostWhole  bool     `json:"cost_known" doc:"whether cost_usd covers all of it"`
	Rounds     int64    `json:"rounds" doc:"calls of a model"`
}

func viewUsage(u model.Usage) *usageView {
	out := &usageView{Prompt: u.Prompt, Completion: u.Completion, Total: u.Total(), CostWhole: u.CostKnown || u == model.Usage{}, Rounds: u.Rounds}
	if u.CostKnown || u.CostMicros > 0 {
		cost := float64(u.CostMicros) / 1e6
		out.Cost = &cost
	}
	return out
}

func viewConversation(c talk.Info) conversationView {
	return conversationView{
		ID: c.ID, FilePath: agentfirst.Handle(c.ID), Agent: c.Agent, Sender: c.Sender, Thread: c.Thread, Number: c.Number, Title: c.Title,
		Messages: c.Messages, Live: c.Live, Loaded: c.Loaded, Created: c.Created, Last: c.Last,
	}
}

type conversationQuery struct {
	Agent  string `query:"agent"`
	Sender string `query:"sender"`
}

type conversationList struct {
	Body struct {
		Conversations []conversationView `json:"conversations"`
	}
}

func (c conversationRoutes) list(ctx context.Context, s identity.Actor, in *conversationQuery) (*conversationList, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	list, err := c.talk.List(ctx, who, talk.Filter{Agent: in.Agent, Sender: in.Sender})
	if err != nil {
		return nil, err
	}
	out := &conversationList{}
	out.Body.Conversations = make([]conversationView, len(list))
	for i, info := range list {
		out.Body.Conversations[i] = viewConversation(info)
	}
	return out, nil
}

type conversationAnswer struct{ Body conversationView }

func (c conversationRoutes) get(ctx context.Context, s identity.Actor, in *byID) (*conversationAnswer, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	info, err := c.talk.Get(ctx, who, in.ID)
	if err != nil {
		return nil, err
	}
	used, err := c.talk.Usage(ctx, who, in.ID)
	out := viewConversation(info)
	out.Usage = viewUsage(used)
	return &conversationAnswer{out}, err
}

type titleRequest struct {
	ID   string `path:"id"`
	Body struct {
		Title string `json:"title" maxLength:"512"`
	}
}

func (c conversationRoutes) rename(ctx context.Context, s identity.Actor, in *titleRequest) (*conversationAnswer, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	if err := c.talk.SetTitle(ctx, who, in.ID, in.Body.Title); err != nil {
		return nil, err
	}
	return c.get(ctx, s, &byID{in.ID})
}

func (c conversationRoutes) remove(ctx context.Context, s identity.Actor, in *byID) (*struct{}, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	return nil, c.talk.Delete(ctx, who, in.ID)
}

// messageView is one message; agent is the guest who said it.
type messageView struct {
	Seq     int64     `json:"seq"`
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Agent   string    `json:"agent,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Summary bool      `json:"summary,omitempty" doc:"the summary of what was archived before"`
	// Outcome is on the last words of a turn.
	Outcome     string `json:"outcome,omitempty" doc:"how the turn ended whose last words these are: complete, cut, cancelled, interrupted or failed"`
	OutcomeCode string `json:"outcome_code,omitempty" doc:"why"`
}

func viewMessages(list []memory.Message) []messageView {
	out := make([]messageView, len(list))
	for i, m := range list {
		out[i] = messageView{Seq: m.Seq, Role: string(m.Role), Content: m.Text, Agent: m.Agent, At: m.At, Summary: m.Summary, Outcome: m.Outcome.How, OutcomeCode: m.Outcome.Code}
	}
	return out
}

type messageQuery struct {
	ID       string `path:"id"`
	Before   int64  `query:"before" minimum:"0" doc:"only numbers below"`
	Limit    int    `query:"limit" minimum:"0" maximum:"10000" doc:"the newest of them; 0 for all"`
	Archived bool   `query:"archived" doc:"the raw messages from the beginning instead of the window"`
}

type messageList struct {
	Body struct {
		Messages  []messageView `json:"messages"`
		Truncated bool          `json:"truncated"`
	}
}

func (c conversationRoutes) messages(ctx context.Context, s identity.Actor, in *messageQuery) (*messageList, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	h, err := c.talk.History(ctx, who, in.ID, talk.HistoryRequest{BeforeSeq: in.Before, Limit: in.Limit, Archived: in.Archived})
	if err != nil {
		return nil, err
	}
	out := &messageList{}
	out.Body.Messages, out.Body.Truncated = viewMessages(h.Messages), h.Truncated
	return out, nil
}

type toolUseView struct {
	Seq       int64  `json:"seq" doc:"number of the message that made the call"`
	Run       string `json:"run_id"`
	Agent     string `json:"agent,omitempty" doc:"the guest who called; empty for the conversation's own agent"`
	Call      string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Output    string `json:"output"`
	LeftOut   int    `json:"left_out_bytes,omitempty"`
	Failed    bool   `json:"failed,omitempty"`
	Answered  bool   `json:"answered" doc:"false while the tool is at work, or when it was cut short"`
}

type toolUseQuery struct {
	ID     string `path:"id"`
	After  int64  `query:"after" minimum:"0" doc:"only of messages with numbers above"`
	Before int64  `query:"before" minimum:"0" doc:"only of messages with numbers below"`
}

type toolUseList struct {
	Body struct {
		Tools     []toolUseView `json:"tools"`
		Truncated bool          `json:"truncated" doc:"there are older ones"`
	}
}

func (c conversationRoutes) tools(ctx context.Context, s identity.Actor, in *toolUseQuery) (*toolUseList, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	list, truncated, err := c.talk.ToolUses(ctx, who, in.ID, in.After, in.Before)
	if err != nil {
		return nil, err
	}
	out := &toolUseList{}
	out.Body.Tools, out.Body.Truncated = make([]toolUseView, len(list)), truncated
	for i, u := range list {
		out.Body.Tools[i] = toolUseView{
			Seq: u.Seq, Run: u.Run, Agent: u.Agent, Call: u.ID, Name: u.Name, Arguments: u.Arguments, Output: u.Output, LeftOut: u.LeftOut,
			Failed: u.Failed, Answered: u.Answered,
		}
	}
	return out, nil
}

type archiveView struct {
	ID         string `json:"id"`
	Title      string `json:"title"`
	Summary    string `json:"summary"`
	ArchivedAt string `json:"archived_at"`
	FromSeq    int64  `json:"from_seq"`
	ToSeq      int64  `json:"to_seq"`
	Messages   int64  `json:"message_count"`
	Thread     string `json:"thread"`
	Automatic  bool   `json:"automatic"`
	Focus      string `json:"focus,omitempty"`
	Model      string `json:"model,omitempty"`
}

func viewArchive(a memory.Archive) archiveView {
	return archiveView{
		ID: a.ID, Title: a.Title, Summary: a.Summary, ArchivedAt: a.ArchivedAt, FromSeq: a.FromSeq, ToSeq: a.ToSeq, Messages: a.Messages,
		Thread: a.Thread, Automatic: a.Automatic, Focus: a.Focus, Model: a.Model,
	}
}

type archiveQuery struct {
	ID     string `path:"id"`
	Before string `query:"before" doc:"only those before this archive"`
	Limit  int    `query:"limit" minimum:"0" maximum:"10000"`
}

type archiveList struct {
	Body struct {
		Archives []archiveView `json:"archives"`
	}
}

// keyOf is the key of a conversation the caller may see.
func (c conversationRoutes) keyOf(ctx context.Context, s identity.Actor, id string) (identity.Actor, talk.Key, error) {
	who, err := talker(s)
	if err != nil {
		return who, talk.Key{}, err
	}
	info, err := c.talk.Get(ctx, who, id)
	return who, info.Key, err
}

func (c conversationRoutes) archives(ctx context.Context, s identity.Actor, in *archiveQuery) (*archiveList, error) {
	who, key, err := c.keyOf(ctx, s, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := c.talk.Archives(ctx, who, key, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &archiveList{}
	out.Body.Archives = make([]archiveView, len(list))
	for i, a := range list {
		out.Body.Archives[i] = viewArchive(a)
	}
	return out, nil
}

type compactRequest struct {
	ID   string `path:"id"`
	Body struct {
		Focus string `json:"focus,omitempty" maxLength:"4000" doc:"what the summary should keep in particular"`
	} `required:"false"`
}

type compactAnswer struct{ Body archiveView }

func (c conversationRoutes) compact(ctx context.Context, s identity.Actor, in *compactRequest) (*compactAnswer, error) {
	who, key, err := c.keyOf(ctx, s, in.ID)
	if err != nil {
		return nil, err
	}
	archive, err := c.talk.Compact(ctx, who, key, in.Body.Focus)
	return &compactAnswer{viewArchive(archive)}, err
}

// redo replaces a summary that was found wrong; the id is the archive's.
func (c conversationRoutes) redo(ctx context.Context, s identity.Actor, in *compactRequest) (*compactAnswer, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	archive, err := c.talk.SummariseAgain(ctx, who, in.ID, in.Body.Focus)
	return &compactAnswer{viewArchive(archive)}, err
}

type archivePageQuery struct {
	ID    string `path:"id"`
	After int64  `query:"after" minimum:"0"`
	Limit int    `query:"limit" minimum:"0" maximum:"10000"`
}

type archivePage struct {
	Body struct {
		archiveView
		Agent     string        `json:"agent"`
		Sender    string        `json:"sender"`
		List      []messageView `json:"messages"`
		Truncated bool          `json:"truncated"`
	}
}

func (c conversationRoutes) archive(ctx context.Context, s identity.Actor, in *archivePageQuery) (*archivePage, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	p, err := c.talk.Archive(ctx, who, in.ID, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &archivePage{}
	out.Body.archiveView, out.Body.Agent, out.Body.Sender = viewArchive(p.Archive), p.Key.Agent, p.Key.Sender
	out.Body.List, out.Body.Truncated = viewMessages(p.Messages), p.Truncated
	return out, nil
}

type searchQuery struct {
	Text   string    `query:"q" required:"true" maxLength:"1000"`
	Agent  string    `query:"agent"`
	Sender string    `query:"sender"`
	Thread string    `query:"thread"`
	After  time.Time `query:"after"`
	Before time.Time `query:"before"`
	Limit  int       `query:"limit" minimum:"0" maximum:"20"`
	Window int       `query:"window" minimum:"0" maximum:"16" doc:"neighbours shown on each side"`
}

type hitView struct {
	Kind         string          `json:"kind" enum:"message,archive,note"`
	Conversation string          `json:"conversation_id,omitempty"`
	Archive      string          `json:"archive_id,omitempty"`
	Agent        string          `json:"agent"`
	Sender       string          `json:"sender"`
	Thread       string          `json:"thread"`
	Seq          int64           `json:"seq,omitempty"`
	Role         string          `json:"role,omitempty"`
	Speaker      string          `json:"speaker,omitempty"`
	Snippet      string          `json:"snippet"`
	Cut          bool            `json:"cut,omitempty"`
	At           time.Time       `json:"at,omitzero"`
	Score        float64         `json:"score"`
	Title        string          `json:"title,omitempty"`
	Window       []neighbourView `json:"window,omitempty"`
}

type neighbourView struct {
	Seq     int64  `json:"seq"`
	Role    string `json:"role"`
	Speaker string `json:"speaker,omitempty"`
	Text    string `json:"text"`
	Cut     bool   `json:"cut,omitempty"`
}

type searchAnswer struct {
	Body struct {
		Hits      []hitView `json:"hits"`
		Truncated bool      `json:"truncated"`
	}
}

func (c conversationRoutes) search(ctx context.Context, s identity.Actor, in *searchQuery) (*searchAnswer, error) {
	who, err := talker(s)
	if err != nil {
		return nil, err
	}
	q := memory.Query{Text: in.Text, Agent: in.Agent, Sender: in.Sender, After: in.After, Before: in.Before, Limit: in.Limit, Near: in.Window}
	if in.Thread != "" {
		q.Thread = &in.Thread
	}
	found, err := c.talk.Search(ctx, who, q)
	if err != nil {
		return nil, err
	}
	out := &searchAnswer{}
	out.Body.Truncated, out.Body.Hits = found.Truncated, make([]hitView, len(found.Hits))
	for i, h := range found.Hits {
		out.Body.Hits[i] = viewHit(h)
	}
	return out, nil
}

func viewHit(h memory.Hit) hitView {
	out := hitView{
		Kind: h.Kind, Conversation: h.Conversation, Archive: h.ArchiveID, Agent: h.Agent, Sender: h.Sender, Thread: h.Thread, Seq: h.Seq,
		Role: h.Role, Speaker: h.Speaker, Snippet: h.Snippet, Cut: h.Cut, At: h.At, Score: h.Score, Title: h.Title,
	}
	for _, n := range h.Near {
		out.Window = append(out.Window, neighbourView{n.Seq, n.Role, n.Speaker, n.Text, n.Cut})
	}
	return out
}

func (c conversationRoutes) export(w http.ResponseWriter, r *http.Request, s identity.Actor) error {
	who, err := talker(s)
	if err != nil {
		return err
	}
	info, err := c.talk.Get(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.jsonl"`, info.Agent))
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriterSize(w, agentfirst.JSONLChunk)
	if err := errors.Join(c.talk.Export(r.Context(), who, info.ID, out), out.Flush()); err != nil {
		c.api.front.Logger().ErrorContext(r.Context(), "export failed", "request_id", front.RequestID(r.Context()), "error", err)
		// The answer has begun: cutting it is the only honest way to say so.
		panic(http.ErrAbortHandler)
	}
	return nil
}

// maxImport is how large an imported conversation may be.
const maxImport = 512 << 20

type importedView struct {
	ID       string `json:"id,omitempty"`
	FilePath string `json:"file_path,omitempty"`
	Agent    string `json:"agent"`
	Sender   string `json:"sender"`
	Thread   string `json:"thread"`
	Messages int    `json:"messages"`
	Archives int    `json:"archives"`
	Skipped  int    `json:"skipped"`
	DryRun   bool   `json:"dry_run,omitempty"`
}

func (c conversationRoutes) importFile(w http.ResponseWriter, r *http.Request, s identity.Actor) error {
	who, err := talker(s)
	if err != nil {
		return err
	}
	opts, err := importOptions(r)
	if err != nil {
		return err
	}
	file, err := spool(r.Body)
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	done, err := c.talk.Import(r.Context(), who, bufio.NewReader(file), opts)
	if err != nil {
		return err
	}
	out := importedView{
		Agent: done.Key.Agent, Sender: done.Key.Sender, Thread: done.Key.Thread, Messages: done.Messages, Archives: done.Archives,
		Skipped: done.Skipped, DryRun: opts.DryRun,
	}
	if !opts.DryRun {
		out.ID, out.FilePath = done.ID, agentfirst.Handle(done.ID)
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(out)
}

func importOptions(r *http.Request) (memory.ImportOptions, error) {
	q := r.URL.Query()
	opts := memory.ImportOptions{Agent: q.Get("agent"), Sender: q.Get("sender"), Thread: q.Get("thread")}
	for name, to := range map[string]*bool{"append": &opts.Append, "dry_run": &opts.DryRun} {
		if !q.Has(name) {
			continue
		}
		on, err := strconv.ParseBool(q.Get(name))
		if err != nil {
			return opts, front.NewProblem(http.StatusBadRequest, "bad_request", name+": want true or false", err)
		}
		*to = on
	}
	return opts, nil
}

// spool keeps a body in a file until it is whole: a store must not wait for a
// slow client.
func spool(body io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "parley-import-*")
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, body)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}
