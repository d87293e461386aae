package health

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object reads the members a rule asks for. Whatever is absent, null or of
// another type is missing: a machine must not be able to break the judge.
type object map[string]jsontext.Value

func members(raw jsontext.Value) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) number(key string) (float64, bool) {
	var f float64
	ok := o[key].Kind() == '0' && json.Unmarshal(o[key], &f) == nil
	return f, ok
}

func (o object) text(key string) (string, bool) {
	var s string
	ok := o[key].Kind() == '"' && json.Unmarshal(o[key], &s) == nil
	return s, ok
}

func (o object) flag(key string) (value, ok bool) {
	kind := o[key].Kind()
	return kind == 't', kind == 't' || kind == 'f'
}

func (o object) list(key string) []object {
	var items []jsontext.Value
	if o[key].Kind() != '[' || json.Unmarshal(o[key], &items) != nil {
		return nil
	}
	out := make([]object, 0, len(items))
	for _, item := range items {
		out = append(out, members(item))
	}
	return out
}

func (o object) texts(key string) []string {
	var items []jsontext.Value
	if o[key].Kind() != '[' || json.Unmarshal(o[key], &items) != nil {
		return nil
	}
	var out []string
	for _, item := range items {
		if s, ok := (object{"": item}).text(""); ok {
			out = append(out, s)
		}
	}
	return out
}

// timeLayouts: RFC 3339, the same without a zone, which means UTC, and a bare
// date, as support tables have it.
var timeLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly}

func (o object) time(key string) (time.Time, bool) {
	s, ok := o.text(key)
	if !ok {
		return time.Time{}, false
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
