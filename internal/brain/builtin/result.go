package builtin

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"parley.internal/internal/brain/tool"
)

// room is what one long text may take of a result, escaped; the rest is for the
// JSON around it.
const room = tool.MaxOutput - 8<<10

// success is the JSON text of an output.
func success(output any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		OK     bool `json:"ok"`
		Output any  `json:"output"`
	}{true, output}); err != nil {
		return Failure(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Failure is the JSON text of a failed call: {"ok":false,"error":{"type","message"}}.
func Failure(err error) string {
	type failure struct {
		Type    tool.ErrorType `json:"type"`
		Message string         `json:"message"`
	}
	raw, _ := json.Marshal(struct {
		OK    bool    `json:"ok"`
		Error failure `json:"error"`
	}{false, failure{tool.TypeOf(err), err.Error()}})
	return string(raw)
}

// cost is how many bytes a character takes inside a JSON string.
func cost(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < 0x20 || r == 0x7f || r == '\u2028' || r == '\u2029':
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

// size is how many bytes a text takes inside a JSON string.
func size(s string) int {
	n := 0
	for _, r := range s {
		n += cost(r)
	}
	return n
}

// head is the longest beginning of s that fits into budget bytes of JSON. s must
// be valid UTF-8.
func head(s string, budget int) string {
	for i, r := range s {
		if budget -= cost(r); budget < 0 {
			return s[:i]
		}
	}
	return s
}

// ends cuts s down to budget bytes of JSON, keeping the beginning and the end.
func ends(s string, budget int) (string, bool) {
	limit, cut := budget, false
	for {
		kept, left := tool.Clip(s, limit)
		cut = cut || left > 0
		total := size(kept)
		if total <= budget {
			return kept, cut
		}
		// from what was kept, not from the limit, which may be far above it
		limit = min(limit, len(kept))*budget/total - 16
	}
}
