package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/agentfirst"
)

// Export writes a conversation from its beginning as JSONL. It reads in pages,
// so a long one does not have to fit into memory.
func (m *Memory) Export(ctx context.Context, id string, w io.Writer) error {
	c, err := m.Get(ctx, id)
	if err != nil {
		return err
	}
	archives, err := m.Archives(ctx, id, "", 0)
	if err != nil {
		return err
	}
	enc := agentfirst.NewExportEncoder(w)
	meta := agentfirst.ExportMeta{Agent: c.Agent, CreatedBy: c.Sender, CreatedAt: c.Created, Title: c.Title, UptimeSecs: c.uptime()}
	if err := enc.Meta(meta); err != nil {
		return err
	}
	return m.exportMessages(ctx, enc, id, archives)
}

func (c Conversation) uptime() uint64 {
	if c.first.IsZero() || c.Last.Before(c.first) {
		return 0
	}
	return uint64(c.Last.Sub(c.first) / time.Second)
}

func (m *Memory) exportMessages(ctx context.Context, enc *agentfirst.ExportEncoder, id string, archives []Archive) error {
	const page = 500
	for after := int64(0); ; {
		list, err := m.Messages(ctx, id, Range{After: after, Limit: page, Oldest: true})
		if err != nil {
			return err
		}
		for _, msg := range list {
			if err := enc.Message(exported(msg)); err != nil {
				return err
			}
			after = msg.Seq
			for len(archives) > 0 && archives[0].ToSeq <= msg.Seq {
				a := archives[0]
				if err := enc.Marker(agentfirst.ExportMarker{Summary: a.Summary, Title: a.Title, ArchivedAt: a.ArchivedAt}); err != nil {
					return err
				}
				archives = archives[1:]
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

func exported(m Message) agentfirst.ExportMessage {
	out := agentfirst.ExportMessage{
		Role: string(m.Role), Content: m.Text, ReasoningContent: m.Reasoning, Name: m.Name, ToolCallID: m.CallID, Agent: m.Agent,
	}
	for _, c := range m.Calls {
		out.ToolCalls = append(out.ToolCalls, agentfirst.ExportToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// ImportOptions say where an imported conversation goes.
type ImportOptions struct {
	// Agent and Sender override the file's own; Thread is where it goes.
	Agent, Sender, Thread string
	// Append adds to a conversation that has messages already.
	Append bool
	// DryRun only counts.
	DryRun bool
	// Check, if set, may refuse the conversation it goes to.
	Check func(Key) error
}

// Imported tells what an import did.
type Imported struct {
	ID                          string
	Key                         Key
	Messages, Archives, Skipped int
}

var errDry = errors.New("dry run")

// Import reads a JSONL conversation in one transaction. Errors about the file
// are agentfirst.ErrEmptyFile and ErrBadMeta.
func (m *Memory) Import(ctx context.Context, r io.Reader, opts ImportOptions) (out Imported, err error) {
	dec, err := agentfirst.NewExportDecoder(r)
	if err != nil {
		return out, err
	}
	lines, err := readLines(dec)
	if err != nil {
		return out, err
	}
	meta := dec.Meta()
	key := Key{Agent: or(opts.Agent, meta.Agent), Sender: or(opts.Sender, meta.CreatedBy), Thread: opts.Thread}
	if err := checkKey(key); err != nil {
		return out, err
	}
	if opts.Check != nil {
		if err := opts.Check(key); err != nil {
			return out, err
		}
	}
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		out, err = importLines(tx, key, meta, lines, opts)
		if err == nil && opts.DryRun {
			return errDry
		}
		return err
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	out.Skipped = dec.Skipped()
	return out, err
}

func readLines(dec *agentfirst.ExportDecoder) (lines []agentfirst.ExportLine, err error) {
	for {
		line, err := dec.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func checkKey(key Key) error {
	return errors.Join(agentfirst.CheckAgent(key.Agent), agentfirst.CheckSender(key.Sender), agentfirst.CheckThread(key.Thread))
}

func importLines(tx *store.Tx, key Key, meta agentfirst.ExportMeta, lines []agentfirst.ExportLine, opts ImportOptions) (Imported, error) {
	num, c, err := create(tx, key, false, meta.CreatedAt)
	if err != nil {
		return Imported{}, err
	}
	if c.Messages > 0 && !opts.Append {
		return Imported{}, fmt.Errorf("%w: give another thread, or append", ErrExists)
	}
	in := &importer{tx: tx, num: num, c: c, at: meta.CreatedAt}
	for _, line := range lines {
		if err := in.line(line); err != nil {
			return Imported{}, err
		}
	}
	return Imported{ID: c.ID, Key: key, Messages: in.messages, Archives: in.archives}, in.finish(meta)
}

// importer adds lines to a conversation. Messages carry no times of their own in
// the file; they get the conversation's, spread over its life by finish.
type importer struct {
	tx                 *store.Tx
	num                int64
	c                  Conversation
	at                 time.Time
	messages, archives int
}

func (in *importer) line(line agentfirst.ExportLine) error {
	if line.Marker != nil {
		return in.marker(*line.Marker)
	}
	in.messages++
	in.c.LastSeq++
	msg := Message{Seq: in.c.LastSeq, At: in.at, Agent: line.Message.Agent, Message: imported(*line.Message)}
	return insertMessage(in.tx, in.num, in.c.Key, msg)
}

func imported(m agentfirst.ExportMessage) model.Message {
	out := model.Message{Role: model.Role(m.Role), Text: m.Content, Reasoning: m.ReasoningContent, Name: m.Name, CallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, model.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// marker makes an archive of what came since the last one; a marker with
// nothing before it has nothing to archive.
func (in *importer) marker(mk agentfirst.ExportMarker) error {
	if in.c.LastSeq < in.c.WindowFrom {
		return nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	in.archives++
	a := Archive{
		ID: id.String(), Conversation: in.c.ID, Title: fit.Storable(mk.Title), Summary: fit.Storable(mk.Summary), ArchivedAt: fit.Storable(mk.ArchivedAt),
		FromSeq: in.c.WindowFrom, ToSeq: in.c.LastSeq, Messages: in.c.LastSeq - in.c.WindowFrom + 1,
	}
	in.c.WindowFrom = in.c.LastSeq + 1
	return insertArchive(in.tx, in.num, in.c.Key, a)
}

// finish sets the figures of the conversation.
func (in *importer) finish(meta agentfirst.ExportMeta) error {
	title, last := or(in.c.Title, meta.Title), meta.CreatedAt.Add(time.Duration(meta.UptimeSecs)*time.Second)
	if in.c.Last.After(last) && in.c.Messages > 0 {
		last = in.c.Last
	}
	_, err := in.tx.Exec(`UPDATE talk_conversations SET title = ?, last_seq = ?, messages = messages + ?, last_at = ?,
		first_at = CASE WHEN first_at = 0 THEN ? ELSE first_at END WHERE num = ?`,
		title, in.c.LastSeq, in.messages, store.Micros(last), store.Micros(meta.CreatedAt), in.num)
	return err
}
