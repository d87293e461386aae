package work

import (
	"bytes"
	"encoding/json"

	"parley.internal/internal/brain/tool"
)

// shrink cuts the longest texts of a JSON object until it has at most limit bytes. Every
// field stays: whoever reads only a part of what a command printed still sees how it
// ended. It gives up on what is no object, or large by other things than texts.
func shrink(raw []byte, limit int) ([]byte, bool) {
	for room := limit / 2; room >= 256; room /= 2 {
		var doc map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&doc) != nil {
			return nil, false
		}
		clipTexts(doc, room)
		of := doc
		if output, ok := doc["output"].(map[string]any); ok {
			of = output
		}
		of["truncated"] = true
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if e.Encode(doc) == nil && out.Len() <= limit {
			return bytes.TrimSpace(out.Bytes()), true
		}
	}
	return nil, false
}

// clipTexts leaves at most so many bytes of every text.
func clipTexts(v any, room int) any {
	switch v := v.(type) {
	case string:
		text, _ := tool.Clip(v, room)
		return text
	case map[string]any:
		for name := range v {
			v[name] = clipTexts(v[name], room)
		}
	case []any:
		for i := range v {
			v[i] = clipTexts(v[i], room)
		}
	}
	return v
}
