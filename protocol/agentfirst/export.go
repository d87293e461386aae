package agentfirst

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ExportMeta is the first line of an exported conversation. It alone says whose
// conversation the file holds; the file's name says nothing.
type ExportMeta struct {
	Agent     string
	CreatedBy string // the sender
	CreatedAt time.Time
	Title     string
	// UptimeSecs is the time from the first to the last message.
	UptimeSecs uint64
}

// ExportMessage is one stored message.
type ExportMessage struct {
	Role             string // user, assistant, tool or system
	Content          string
	ReasoningContent string
	Name             string
	ToolCallID       string
	ToolCalls        []ExportToolCall
	Agent            string // the guest who said it; empty = the primary agent
}

// ExportToolCall is one tool call of an assistant message.
type ExportToolCall struct {
	ID        string
	Type      string // empty is written as "function"
	Name      string
	Arguments string // JSON, as the model wrote it
}

// ExportMarker stands right after the messages that a compaction archived.
type ExportMarker struct {
	Summary string
	Title   string
	// ArchivedAt is kept as it was written, so that a file survives a round trip;
	// old files have none.
	ArchivedAt string
}

const exportTimeLayout = "2006-01-02T15:04:05.000000000-07:00"

// ExportEncoder writes a conversation as JSONL: UTF-8, one object a line, keys
// in a fixed order, nothing escaped that JSON does not demand.
type ExportEncoder struct {
	w   io.Writer
	buf []byte
}

// NewExportEncoder returns an encoder onto w. It makes one Write a line.
func NewExportEncoder(w io.Writer) *ExportEncoder { return &ExportEncoder{w: w} }

// Meta writes the first line.
func (e *ExportEncoder) Meta(m ExportMeta) error {
	e.begin()
	e.always("agent", m.Agent)
	e.always("created_by", m.CreatedBy)
	e.always("created_at", m.CreatedAt.UTC().Format(exportTimeLayout))
	e.always("title", m.Title)
	e.key("uptime_secs")
	e.buf = strconv.AppendUint(e.buf, m.UptimeSecs, 10)
	return e.end()
}

// Message writes one message.
func (e *ExportEncoder) Message(m ExportMessage) error {
	e.begin()
	e.always("role", m.Role)
	e.some("content", m.Content)
	e.some("reasoning_content", m.ReasoningContent)
	e.some("name", m.Name)
	e.some("tool_call_id", m.ToolCallID)
	e.toolCalls(m.ToolCalls)
	e.some("agent", m.Agent)
	return e.end()
}

// Marker writes the mark of a compaction.
func (e *ExportEncoder) Marker(m ExportMarker) error {
	e.begin()
	e.always("compact", m.Summary)
	e.some("title", m.Title)
	e.some("archived_at", m.ArchivedAt)
	return e.end()
}

func (e *ExportEncoder) toolCalls(calls []ExportToolCall) {
	if len(calls) == 0 {
		return
	}
	e.key("tool_calls")
	open := byte('[')
	for _, c := range calls {
		e.buf = append(e.buf, open, '{')
		open = ','
		e.always("id", c.ID)
		if c.Type == "" {
			c.Type = "function"
		}
		e.always("type", c.Type)
		e.key("function")
		e.buf = append(e.buf, '{')
		e.always("name", c.Name)
		e.always("arguments", c.Arguments)
		e.buf = append(e.buf, "}}"...)
	}
	e.buf = append(e.buf, ']')
}

func (e *ExportEncoder) begin() { e.buf = append(e.buf[:0], '{') }

func (e *ExportEncoder) end() error {
	_, err := e.w.Write(append(e.buf, "}\n"...))
	if cap(e.buf) > firstRead {
		e.buf = nil
	}
	return err
}

func (e *ExportEncoder) key(name string) {
	if e.buf[len(e.buf)-1] != '{' {
		e.buf = append(e.buf, ',')
	}
	e.buf = append(append(append(e.buf, '"'), name...), `":`...)
}

func (e *ExportEncoder) always(name, value string) {
	e.key(name)
	// Quoting fails on nothing but bad UTF-8, which is replaced first.
	e.buf, _ = jsontext.AppendQuote(e.buf, strings.ToValidUTF8(value, "\uFFFD"))
}

func (e *ExportEncoder) some(name, value string) {
	if value != "" {
		e.always(name, value)
	}
}
