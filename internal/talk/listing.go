package talk

import (
	"context"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
)

// maxTitle is how long a title given by a person may be, in bytes.
const maxTitle = 512

// ListActive lists what any hub has loaded now.
func (t *Talk) ListActive(ctx context.Context, who identity.Actor, f Filter) ([]Info, error) {
	list, err := t.d.Memory.ListActive(ctx, memory.Filter{Agent: f.Agent, Sender: f.Sender, Allowed: who.Senders()})
	out := make([]Info, len(list))
	for i, a := range list {
		out[i] = info(a.Conversation)
		out[i].Loaded = a.Loaded
	}
	return out, err
}

// List lists conversations, newest activity first.
func (t *Talk) List(ctx context.Context, who identity.Actor, f Filter) ([]Info, error) {
	list, err := t.d.Memory.List(ctx, memory.Filter{Agent: f.Agent, Sender: f.Sender, Allowed: who.Senders()})
	out := make([]Info, len(list))
	for i, c := range list {
		out[i] = info(c)
	}
	return out, err
}

func info(c memory.Conversation) Info {
	return Info{Conversation: c, Live: max(c.LastSeq-c.WindowFrom+1, 0)}
}

// Find looks a conversation up by its key.
func (t *Talk) Find(ctx context.Context, who identity.Actor, key Key) (Info, error) {
	c, err := t.find(ctx, who, key)
	return info(c), err
}

// Get looks one up by its id.
func (t *Talk) Get(ctx context.Context, who identity.Actor, id string) (Info, error) {
	c, err := t.get(ctx, who, id)
	return info(c), err
}

// Usage sums what a conversation has used so far: its turns, the rounds of a going
// one included once they are stored, and the summaries of its archives.
func (t *Talk) Usage(ctx context.Context, who identity.Actor, id string) (model.Usage, error) {
	if _, err := t.get(ctx, who, id); err != nil {
		return model.Usage{}, err
	}
	return t.d.Memory.Usage(ctx, id)
}

func (t *Talk) get(ctx context.Context, who identity.Actor, id string) (memory.Conversation, error) {
	c, err := t.d.Memory.Get(ctx, id)
	if err == nil && !may(who, c.Sender) {
		return memory.Conversation{}, fmt.Errorf("%w: sender %q", ErrForbidden, c.Sender)
	}
	return c, err
}

// History gives what was said.
func (t *Talk) History(ctx context.Context, who identity.Actor, id string, req HistoryRequest) (History, error) {
	if _, err := t.get(ctx, who, id); err != nil {
		return History{}, err
	}
	w, err := t.d.Memory.Window(ctx, id)
	if err != nil {
		return History{}, err
	}
	h := &historian{t: t, ctx: ctx, id: id, room: agentfirst.MaxHistory, limit: req.Limit}
	before, first := w.Conversation.LastSeq+1, w.Conversation.WindowFrom
	if req.BeforeSeq > 0 {
		before = min(before, req.BeforeSeq)
	}
	if req.Archived {
		first = 1
	}
	if err := h.read(first, before); err != nil {
		return History{}, err
	}
	out := History{Conversation: w.Conversation, Messages: h.list, Truncated: h.truncated}
	if w.Archive != nil && !req.Archived && !h.truncated {
		lead := memory.Message{Message: model.Message{Role: model.User, Text: w.Archive.Summary, Summary: true}}
		if h.room >= len(lead.Text) {
			out.Messages = slices.Insert(out.Messages, 0, lead)
		}
	}
	return out, nil
}

// historian reads backwards until it has enough.
type historian struct {
	t         *Talk
	ctx       context.Context
	id        string
	room      int
	limit     int
	list      []memory.Message // newest first until read is done
	truncated bool
}

func (h *historian) read(first, before int64) error {
	for before > first && !h.truncated {
		page, err := h.t.d.Memory.Messages(h.ctx, h.id, memory.Range{After: first - 1, Before: before, Limit: attachPage})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for i := len(page) - 1; i >= 0 && !h.truncated; i-- {
			before = page[i].Seq
			h.keep(page[i])
		}
	}
	slices.Reverse(h.list)
	return nil
}

func (h *historian) keep(m memory.Message) {
	if !shown(m) {
		return
	}
	size := len(m.Text) + 128
	if size > h.room || h.limit > 0 && len(h.list) >= h.limit {
		h.truncated = true
		return
	}
	h.room -= size
	h.list = append(h.list, m)
}

// Archives lists a conversation's archives, oldest first.
func (t *Talk) Archives(ctx context.Context, who identity.Actor, key Key, before string, limit int) ([]memory.Archive, error) {
	c, err := t.find(ctx, who, key)
	if err != nil {
		return nil, err
	}
	return t.d.Memory.Archives(ctx, c.ID, before, limit)
}

// Archive gives one archive and a page of what it was made of.
func (t *Talk) Archive(ctx context.Context, who identity.Actor, id string, afterSeq int64, limit int) (ArchivePage, error) {
	a, key, err := t.d.Memory.GetArchive(ctx, id)
	if err != nil {
		return ArchivePage{}, err
	}
	if !may(who, key.Sender) {
		return ArchivePage{}, fmt.Errorf("%w: sender %q", ErrForbidden, key.Sender)
	}
	page := ArchivePage{Archive: a, Key: key}
	room := agentfirst.MaxHistory
	for after := max(afterSeq, a.FromSeq-1); after < a.ToSeq; {
		list, err := t.d.Memory.ArchiveMessages(ctx, a, after, attachPage)
		if err != nil || len(list) == 0 {
			return page, err
		}
		for _, m := range list {
			after = m.Seq
			if !shown(m) {
				continue
			}
			if room -= len(m.Text) + 128; room < 0 || limit > 0 && len(page.Messages) >= limit {
				page.Truncated = true
				return page, nil
			}
			page.Messages = append(page.Messages, m)
		}
	}
	return page, nil
}

// Search finds messages, archives and notes the caller may see.
func (t *Talk) Search(ctx context.Context, who identity.Actor, q memory.Query) (memory.Found, error) {
	q.Allowed = who.Senders()
	return t.d.Memory.Search(ctx, q)
}

// Notes lists what an agent remembers of a sender.
func (t *Talk) Notes(ctx context.Context, who identity.Actor, key Key) ([]memory.Note, error) {
	key, err := keyOf(who, key)
	if err != nil {
		return nil, err
	}
	return t.d.Memory.Notes(ctx, key)
}

// SetTitle names a conversation.
func (t *Talk) SetTitle(ctx context.Context, who identity.Actor, id, title string) error {
	c, err := t.get(ctx, who, id)
	if err != nil {
		return err
	}
	if len(title) > maxTitle || !utf8.ValidString(title) {
		return fmt.Errorf("%w: a title has at most %d bytes of UTF-8", ErrBadRequest, maxTitle)
	}
	if err := t.d.Memory.SetTitle(ctx, id, title); err != nil {
		return err
	}
	f := t.feed(c)
	f.announce(Event{Kind: Titled, Text: title})
	t.forget(f)
	return nil
}

// Export writes a conversation from its beginning as JSONL.
func (t *Talk) Export(ctx context.Context, who identity.Actor, id string, w io.Writer) error {
	if _, err := t.get(ctx, who, id); err != nil {
		return err
	}
	t.note(who.String(), audit.TalkExported, id, nil)
	return t.d.Memory.Export(ctx, id, w)
}
