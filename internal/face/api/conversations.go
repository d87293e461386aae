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

	"parley.internal/internal/brain/model"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
)

// RegisterConversations adds what was said and what is remembered.
func RegisterConversations(a *API, t talk.API) {
	c := conversationRoutes{t, a}
	see := access{Tag: "conversations"}
	add(a, see, rest.ListConversations, c.list)
	add(a, see, rest.SearchConversations, c.search)
	add(a, see, rest.GetConversation, c.get)
	add(a, see, rest.RenameConversation, c.rename)
	add(a, see, rest.RemoveConversation, c.remove)
	add(a, see, rest.ListMessages, c.messages)
	add(a, see, rest.ListToolUses, c.tools)
	add(a, see, rest.ListArchives, c.archives)
	add(a, see, rest.CompactConversation, c.compact)
	addRaw(a, see, rest.ExportConversation, c.export)
	load := see
	load.MaxBody = maxImport
	addRaw(a, load, rest.ImportConversation, c.importFile)
	add(a, see, rest.GetArchive, c.archive)
	registerShares(a, c)
	add(a, see, rest.RedoArchive, c.redo)
}

type conversationRoutes struct {
	talk talk.API
	api  *API
}

func viewUsage(u model.Usage) *rest.Usage {
	out := &rest.Usage{Prompt: u.Prompt, Completion: u.Completion, Total: u.Total(), CostKnown: u.CostKnown || u == model.Usage{}, Rounds: u.Rounds}
	if u.CostKnown || u.CostMicros > 0 {
		cost := float64(u.CostMicros) / 1e6
		out.Cost = &cost
	}
	return out
}

func viewConversation(c talk.Info) rest.Conversation {
	return rest.Conversation{
		ID: c.ID, FilePath: agentfirst.Handle(c.ID), Agent: c.Agent, Sender: c.Sender, Thread: c.Thread, Number: c.Number, Title: c.Title,
		Messages: c.Messages, Live: c.Live, Loaded: c.Loaded, Created: c.Created, Last: c.Last,
	}
}

func (c conversationRoutes) list(ctx context.Context, s identity.Actor, in *rest.ConversationQuery) (rest.Conversations, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Conversations{}, err
	}
	list, err := c.talk.List(ctx, who, talk.Filter{Agent: in.Agent, Sender: in.Sender})
	if err != nil {
		return rest.Conversations{}, err
	}
	return rest.Conversations{Conversations: each(list, viewConversation)}, nil
}

func (c conversationRoutes) get(ctx context.Context, s identity.Actor, in *rest.ByID) (rest.Conversation, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Conversation{}, err
	}
	info, err := c.talk.Get(ctx, who, in.ID)
	if err != nil {
		return rest.Conversation{}, err
	}
	used, err := c.talk.Usage(ctx, who, in.ID)
	out := viewConversation(info)
	out.Usage = viewUsage(used)
	return out, err
}

func (c conversationRoutes) rename(ctx context.Context, s identity.Actor, in *rest.ConversationTitle) (rest.Conversation, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Conversation{}, err
	}
	if err := c.talk.SetTitle(ctx, who, in.ID, in.Body.Title); err != nil {
		return rest.Conversation{}, err
	}
	return c.get(ctx, s, &rest.ByID{ID: in.ID})
}

func (c conversationRoutes) remove(ctx context.Context, s identity.Actor, in *rest.ByID) (rest.None, error) {
	who, err := talker(s)
	if err != nil {
		return rest.None{}, err
	}
	return rest.None{}, c.talk.Delete(ctx, who, in.ID)
}

func viewMessage(m memory.Message) rest.Message {
	return rest.Message{Files: each(m.Files, viewMessageFile), Seq: m.Seq, Role: string(m.Role), Content: m.Text, Agent: m.Agent, At: m.At, Summary: m.Summary, Outcome: m.Outcome.How, OutcomeCode: m.Outcome.Code}
}

func viewMessageFile(f model.File) rest.File {
	return rest.File{Digest: f.Digest, Name: f.Name, Type: f.Type, Size: f.Size}
}

func (c conversationRoutes) messages(ctx context.Context, s identity.Actor, in *rest.MessageQuery) (rest.Messages, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Messages{}, err
	}
	h, err := c.talk.History(ctx, who, in.ID, talk.HistoryRequest{BeforeSeq: in.Before, Limit: in.Limit, Archived: in.Archived})
	if err != nil {
		return rest.Messages{}, err
	}
	return rest.Messages{Messages: each(h.Messages, viewMessage), Truncated: h.Truncated}, nil
}

func (c conversationRoutes) tools(ctx context.Context, s identity.Actor, in *rest.ToolUseQuery) (rest.ToolUses, error) {
	who, err := talker(s)
	if err != nil {
		return rest.ToolUses{}, err
	}
	list, truncated, err := c.talk.ToolUses(ctx, who, in.ID, in.After, in.Before)
	if err != nil {
		return rest.ToolUses{}, err
	}
	return rest.ToolUses{Tools: each(list, viewToolUse), Truncated: truncated}, nil
}

func viewToolUse(u talk.ToolUse) rest.ToolUse {
	return rest.ToolUse{
		Seq: u.Seq, Run: u.Run, Agent: u.Agent, Call: u.ID, Name: u.Name, Arguments: u.Arguments, Output: u.Output, LeftOut: u.LeftOut,
		Failed: u.Failed, Answered: u.Answered,
	}
}

func viewArchive(a memory.Archive) rest.Archive {
	return rest.Archive{
		ID: a.ID, Title: a.Title, Summary: a.Summary, ArchivedAt: a.ArchivedAt, FromSeq: a.FromSeq, ToSeq: a.ToSeq, Messages: a.Messages,
		Thread: a.Thread, Automatic: a.Automatic, Focus: a.Focus, Model: a.Model,
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

func (c conversationRoutes) archives(ctx context.Context, s identity.Actor, in *rest.ArchiveQuery) (rest.Archives, error) {
	who, key, err := c.keyOf(ctx, s, in.ID)
	if err != nil {
		return rest.Archives{}, err
	}
	list, err := c.talk.Archives(ctx, who, key, in.Before, in.Limit)
	if err != nil {
		return rest.Archives{}, err
	}
	return rest.Archives{Archives: each(list, viewArchive)}, nil
}

func (c conversationRoutes) compact(ctx context.Context, s identity.Actor, in *rest.Summary) (rest.Archive, error) {
	who, key, err := c.keyOf(ctx, s, in.ID)
	if err != nil {
		return rest.Archive{}, err
	}
	archive, err := c.talk.Compact(ctx, who, key, in.Body.Focus)
	return viewArchive(archive), err
}

// redo replaces a summary that was found wrong; the id is the archive's.
func (c conversationRoutes) redo(ctx context.Context, s identity.Actor, in *rest.Summary) (rest.Archive, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Archive{}, err
	}
	archive, err := c.talk.SummariseAgain(ctx, who, in.ID, in.Body.Focus)
	return viewArchive(archive), err
}

func (c conversationRoutes) archive(ctx context.Context, s identity.Actor, in *rest.ArchivePageQuery) (rest.ArchivePage, error) {
	who, err := talker(s)
	if err != nil {
		return rest.ArchivePage{}, err
	}
	p, err := c.talk.Archive(ctx, who, in.ID, in.After, in.Limit)
	if err != nil {
		return rest.ArchivePage{}, err
	}
	return rest.ArchivePage{
		Archive: viewArchive(p.Archive), Agent: p.Key.Agent, Sender: p.Key.Sender, List: each(p.Messages, viewMessage), Truncated: p.Truncated,
	}, nil
}

func (c conversationRoutes) search(ctx context.Context, s identity.Actor, in *rest.SearchQuery) (rest.Hits, error) {
	who, err := talker(s)
	if err != nil {
		return rest.Hits{}, err
	}
	q := memory.Query{Text: in.Text, Agent: in.Agent, Sender: in.Sender, After: in.After, Before: in.Before, Limit: in.Limit, Near: in.Window}
	if in.Thread != "" {
		q.Thread = &in.Thread
	}
	found, err := c.talk.Search(ctx, who, q)
	if err != nil {
		return rest.Hits{}, err
	}
	return rest.Hits{Hits: each(found.Hits, viewHit), Truncated: found.Truncated}, nil
}

func viewHit(h memory.Hit) rest.Hit {
	out := rest.Hit{
		Kind: h.Kind, Conversation: h.Conversation, Archive: h.ArchiveID, Agent: h.Agent, Sender: h.Sender, Thread: h.Thread, Seq: h.Seq,
		Role: h.Role, Speaker: h.Speaker, Snippet: h.Snippet, Cut: h.Cut, At: h.At, Score: h.Score, Title: h.Title,
	}
	for _, n := range h.Near {
		out.Window = append(out.Window, rest.Neighbour{Seq: n.Seq, Role: n.Role, Speaker: n.Speaker, Text: n.Text, Cut: n.Cut})
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
	out := rest.Imported{
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
