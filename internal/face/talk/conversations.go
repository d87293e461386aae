package talk

import (
	"time"

	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	wire "parley.internal/protocol/agentfirst"
)

func (r *request) listActive() (*wire.ServerMessage, error) {
	in := r.msg.GetListActiveConversations()
	list, err := r.c.face.d.Talk.ListActive(r.c.ctx, r.who, talk.Filter{Agent: in.GetAgent(), Sender: in.GetSender()})
	if err != nil {
		return nil, err
	}
	out := &wire.ActiveConversations{}
	for _, c := range list {
		out.Conversations = append(out.Conversations, &wire.ActiveConversationInfo{
			Agent: c.Agent, Sender: c.Sender, Thread: c.Thread, MessageCount: number(c.Live), AliveSecs: secondsSince(c.Loaded), Title: c.Title,
		})
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_ActiveConversations{ActiveConversations: out}}, nil
}

func secondsSince(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return number(int64(time.Since(t) / time.Second))
}

func (r *request) listConversations() (*wire.ServerMessage, error) {
	in := r.msg.GetListConversations()
	list, err := r.c.face.d.Talk.List(r.c.ctx, r.who, talk.Filter{Agent: in.GetAgent(), Sender: in.GetSender()})
	if err != nil {
		return nil, err
	}
	out := &wire.ConversationList{}
	for _, c := range list {
		out.Conversations = append(out.Conversations, &wire.ConversationInfo{
			Agent: c.Agent, Sender: c.Sender, Thread: c.Thread, Seq: small(c.Number), Title: c.Title, FilePath: wire.Handle(c.ID),
			MessageCount: number(c.Messages), AliveSecs: secondsSince(c.Loaded), Date: c.Last.UTC().Format(time.DateOnly),
		})
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_ConversationList{ConversationList: out}}, nil
}

// handle is the conversation id in a file_path; anything else is nothing we have.
func handle(path string) (string, error) {
	id, ok := wire.ParseHandle(path)
	if !ok {
		return "", errHandle
	}
	return id, nil
}

func (r *request) history() (*wire.ServerMessage, error) {
	in := r.msg.GetGetConversationHistory()
	id, err := handle(in.GetFilePath())
	if err != nil {
		return nil, err
	}
	h, err := r.c.face.d.Talk.History(r.c.ctx, r.who, id, talk.HistoryRequest{
		BeforeSeq: int64(in.GetBeforeSeq()), Limit: int(in.GetLimit()), Archived: in.GetArchived(),
	})
	if err != nil {
		return nil, err
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_ConversationHistory{ConversationHistory: &wire.ConversationHistory{
		Messages: historyMessages(h.Messages), Title: h.Conversation.Title, Agent: h.Conversation.Agent, Truncated: h.Truncated,
	}}}, nil
}

func (r *request) deleteConversation() (*wire.ServerMessage, error) {
	id, err := handle(r.msg.GetDeleteConversation().GetFilePath())
	if err != nil {
		return nil, err
	}
	return pong(r.c.face.d.Talk.Delete(r.c.ctx, r.who, id))
}

func (r *request) setTitle() (*wire.ServerMessage, error) {
	in := r.msg.GetSetTitle()
	id, err := handle(in.GetFilePath())
	if err != nil {
		return nil, err
	}
	return pong(r.c.face.d.Talk.SetTitle(r.c.ctx, r.who, id, in.GetTitle()))
}

func (r *request) listArchives() (*wire.ServerMessage, error) {
	in := r.msg.GetListArchives()
	list, err := r.c.face.d.Talk.Archives(r.c.ctx, r.who, key(in), in.GetBefore(), int(in.GetLimit()))
	if err != nil {
		return nil, err
	}
	out := &wire.ArchiveList{}
	for _, a := range list {
		out.Archives = append(out.Archives, archiveInfo(a))
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_ArchiveList{ArchiveList: out}}, nil
}

func archiveInfo(a memory.Archive) *wire.ArchiveInfo {
	return &wire.ArchiveInfo{
		Id: a.ID, Title: a.Title, Summary: a.Summary, ArchivedAt: a.ArchivedAt, FromSeq: number(a.FromSeq), ToSeq: number(a.ToSeq),
		Messages: small(a.Messages), Thread: a.Thread,
	}
}

func (r *request) getArchive() (*wire.ServerMessage, error) {
	in := r.msg.GetGetArchive()
	p, err := r.c.face.d.Talk.Archive(r.c.ctx, r.who, in.GetId(), int64(in.GetAfterSeq()), int(in.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_Archive{Archive: &wire.Archive{
		Info: archiveInfo(p.Archive), Messages: historyMessages(p.Messages), Truncated: p.Truncated,
	}}}, nil
}

func (r *request) search() (*wire.ServerMessage, error) {
	in := r.msg.GetSearch()
	q := memory.Query{Text: in.GetQuery(), Agent: in.GetAgent(), Sender: in.GetSender(), Limit: int(in.GetLimit()), Near: int(in.GetWindow())}
	if in.GetThread() != "" {
		q.Thread = new(in.GetThread())
	}
	var err error
	if q.After, err = when("after", in.GetAfter()); err != nil {
		return nil, err
	}
	if q.Before, err = when("before", in.GetBefore()); err != nil {
		return nil, err
	}
	found, err := r.c.face.d.Talk.Search(r.c.ctx, r.who, q)
	if err != nil {
		return nil, err
	}
	out := &wire.SearchResult{Truncated: found.Truncated}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, hit(h))
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_SearchResult{SearchResult: out}}, nil
}

// when reads a moment, or a day, in UTC.
func when(field, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return t, bad("%s: want RFC 3339 or YYYY-MM-DD", field)
	}
	return t, nil
}

func hit(h memory.Hit) *wire.Hit {
	out := &wire.Hit{
		Kind: h.Kind, ArchiveId: h.ArchiveID, Agent: h.Agent, Sender: h.Sender, Thread: h.Thread, Seq: number(h.Seq), Role: h.Role,
		Speaker: h.Speaker, Snippet: h.Snippet, Cut: h.Cut, At: moment(h.At), Score: float32(h.Score), Title: h.Title,
	}
	if h.Conversation != "" {
		out.FilePath = wire.Handle(h.Conversation)
	}
	for _, n := range h.Near {
		out.Window = append(out.Window, &wire.HitNeighbour{Seq: number(n.Seq), Role: n.Role, Speaker: n.Speaker, Text: n.Text, Cut: n.Cut})
	}
	return out
}
