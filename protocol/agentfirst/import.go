package agentfirst

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxImportLine is the longest line an import reads into memory. The largest
// turn, every byte of it escaped, stays below; anything longer is skipped.
const maxImportLine = 64 << 20

// ExportLine is one line after the first: exactly one of its fields is set.
type ExportLine struct {
	Message *ExportMessage
	Marker  *ExportMarker
}

// ExportDecoder reads a JSONL conversation. It is strict about the first line,
// which says whose conversation it is, and forgiving about all others: what it
// cannot use, it skips and counts.
type ExportDecoder struct {
	r       *bufio.Reader
	meta    ExportMeta
	skipped int
}

// NewExportDecoder reads the first line of r. It fails with ErrEmptyFile or
// ErrBadMeta when there is nothing to import.
func NewExportDecoder(r io.Reader) (*ExportDecoder, error) {
	d := &ExportDecoder{r: bufio.NewReaderSize(r, firstRead)}
	line, err := d.line()
	switch {
	case errors.Is(err, io.EOF):
		return nil, ErrEmptyFile
	case errors.Is(err, errLongLine):
		return nil, ErrBadMeta
	case err != nil:
		return nil, err
	}
	d.meta, err = parseMeta(line)
	return d, err
}

// Meta returns the first line.
func (d *ExportDecoder) Meta() ExportMeta { return d.meta }

// Skipped returns how many lines were passed over so far.
func (d *ExportDecoder) Skipped() int { return d.skipped }

// Next returns the next message or marker; io.EOF after the last.
func (d *ExportDecoder) Next() (ExportLine, error) {
	for {
		line, err := d.line()
		if err != nil && !errors.Is(err, errLongLine) {
			return ExportLine{}, err
		}
		if err == nil {
			if l, ok := parseLine(line); ok {
				return l, nil
			}
		}
		d.skipped++
	}
}

var errLongLine = errors.New("line too long")

// line returns the next line without its newline. A last line needs none.
func (d *ExportDecoder) line() ([]byte, error) {
	var line []byte
	for {
		part, err := d.r.ReadSlice('\n')
		if len(line) <= maxImportLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case err != nil && len(line) == 0:
			return nil, io.EOF
		case len(line) > maxImportLine:
			return nil, errLongLine
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}

// object parses a line. Names are compared exactly; a name given twice or bad
// UTF-8 makes the line unusable.
func object(line []byte) (map[string]jsontext.Value, error) {
	var o map[string]jsontext.Value
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	return o, nil
}

func parseMeta(line []byte) (ExportMeta, error) {
	o, err := object(line)
	if err != nil {
		return ExportMeta{}, fmt.Errorf("%w: %w", ErrBadMeta, err)
	}
	m := ExportMeta{Agent: text(o["agent"]), CreatedBy: text(o["created_by"]), Title: text(o["title"])}
	if m.Agent == "" || m.CreatedBy == "" {
		return ExportMeta{}, fmt.Errorf("%w: it needs agent and created_by", ErrBadMeta)
	}
	// The rest is only described, not relied on: what cannot be read stays zero.
	if at, err := time.Parse(time.RFC3339Nano, text(o["created_at"])); err == nil {
		m.CreatedAt = at.UTC()
	}
	if v := o["uptime_secs"]; v != nil {
		var secs uint64
		if json.Unmarshal(v, &secs) == nil {
			m.UptimeSecs = secs
		}
	}
	return m, nil
}

// text returns v when it is a JSON string, else "".
func text(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

func parseLine(line []byte) (ExportLine, bool) {
	o, err := object(line)
	if err != nil {
		return ExportLine{}, false
	}
	if _, hasRole := o["role"]; hasRole {
		m, ok := parseMessage(line)
		return ExportLine{Message: m}, ok
	}
	if o["compact"].Kind() != '"' {
		return ExportLine{}, false
	}
	return ExportLine{Marker: &ExportMarker{
		Summary: text(o["compact"]), Title: text(o["title"]), ArchivedAt: text(o["archived_at"]),
	}}, true
}

// messageJSON is a message line; null counts as left out.
type messageJSON struct {
	Role             string `json:"role"`
	Content          string `json:"content"`
	ReasoningContent string `json:"reasoning_content"`
	Name             string `json:"name"`
	ToolCallID       string `json:"tool_call_id"`
	ToolCalls        []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	Agent string `json:"agent"`
}

func parseMessage(line []byte) (*ExportMessage, bool) {
	var j messageJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, false
	}
	switch j.Role {
	case "user", "assistant", "tool", "system":
	default:
		return nil, false
	}
	m := &ExportMessage{
		Role: j.Role, Content: j.Content, ReasoningContent: j.ReasoningContent,
		Name: j.Name, ToolCallID: j.ToolCallID, Agent: j.Agent,
	}
	for _, c := range j.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, ExportToolCall{
			ID: c.ID, Type: c.Type, Name: c.Function.Name, Arguments: c.Function.Arguments,
		})
	}
	return m, true
}
