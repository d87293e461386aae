package agentfirst

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	// Editors on Windows begin a file with a byte-order mark.
	d.meta, err = parseMeta(bytes.TrimPrefix(line, []byte("\uFEFF")))
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

// parseOptions forgive a name given twice: remembering every name of a hostile
// line would cost many times its size. Names are compared exactly.
var parseOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true))

func parseMeta(line []byte) (ExportMeta, error) {
	var j struct {
		Agent      jsontext.Value `json:"agent"`
		CreatedBy  jsontext.Value `json:"created_by"`
		CreatedAt  jsontext.Value `json:"created_at"`
		Title      jsontext.Value `json:"title"`
		UptimeSecs jsontext.Value `json:"uptime_secs"`
	}
	if err := json.Unmarshal(line, &j, parseOptions); err != nil {
		return ExportMeta{}, fmt.Errorf("%w: %w", ErrBadMeta, err)
	}
	m := ExportMeta{Agent: text(j.Agent), CreatedBy: text(j.CreatedBy), Title: text(j.Title)}
	if m.Agent == "" || m.CreatedBy == "" {
		return ExportMeta{}, fmt.Errorf("%w: it needs agent and created_by", ErrBadMeta)
	}
	// The rest only describes and is not relied on: what cannot be read stays zero.
	at, err := time.Parse(time.RFC3339Nano, text(j.CreatedAt))
	if at = at.UTC(); err == nil && at.Year() > 0 && at.Year() < 10000 {
		m.CreatedAt = at
	}
	if secs, err := strconv.ParseUint(string(j.UptimeSecs), 10, 64); err == nil {
		m.UptimeSecs = secs
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

// lineJSON is any line after the first; null counts as left out.
type lineJSON struct {
	Role             *string        `json:"role"`
	Content          string         `json:"content"`
	ReasoningContent string         `json:"reasoning_content"`
	Name             string         `json:"name"`
	ToolCallID       string         `json:"tool_call_id"`
	ToolCalls        jsontext.Value `json:"tool_calls"`
	Agent            string         `json:"agent"`

	Compact    jsontext.Value `json:"compact"`
	Title      jsontext.Value `json:"title"`
	ArchivedAt jsontext.Value `json:"archived_at"`
}

func parseLine(line []byte) (ExportLine, bool) {
	var j lineJSON
	if err := json.Unmarshal(line, &j, parseOptions); err != nil {
		return ExportLine{}, false
	}
	if j.Role != nil {
		m, ok := j.message()
		return ExportLine{Message: m}, ok
	}
	if j.Compact.Kind() != '"' {
		return ExportLine{}, false
	}
	return ExportLine{Marker: &ExportMarker{
		Summary: text(j.Compact), Title: text(j.Title), ArchivedAt: text(j.ArchivedAt),
	}}, true
}

func (j *lineJSON) message() (*ExportMessage, bool) {
	switch *j.Role {
	case "user", "assistant", "tool", "system":
	default:
		return nil, false
	}
	calls, ok := parseToolCalls(j.ToolCalls)
	if !ok {
		return nil, false
	}
	return &ExportMessage{
		Role: *j.Role, Content: j.Content, ReasoningContent: j.ReasoningContent,
		Name: j.Name, ToolCallID: j.ToolCallID, ToolCalls: calls, Agent: j.Agent,
	}, true
}

// maxToolCalls bounds the calls of one message: in memory an empty one is many
// times as large as in the file.
const maxToolCalls = 1024

func parseToolCalls(v jsontext.Value) ([]ExportToolCall, bool) {
	if v == nil || v.Kind() == 'n' {
		return nil, true
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), parseOptions)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil, false
	}
	var calls []ExportToolCall
	for dec.PeekKind() != ']' {
		var c struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		}
		if err := json.UnmarshalDecode(dec, &c); err != nil || len(calls) == maxToolCalls {
			return nil, false
		}
		calls = append(calls, ExportToolCall{
			ID: c.ID, Type: c.Type, Name: c.Function.Name, Arguments: c.Function.Arguments,
		})
	}
	return calls, true
}
