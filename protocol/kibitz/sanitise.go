package kibitz

import (
	"slices"

	"github.com/go-json-experiment/json"
)

// Sanitise reads a grant that came from outside. It never fails: what it does
// not understand gives no right, and what is no object is an empty grant.
func Sanitise(raw Raw) Grant {
	o, err := readObject(raw)
	if err != nil {
		return Grant{Perceive: []Capability{}, Act: []Capability{}}
	}
	g := Grant{
		Perceive: words(o["perceive"], PerceiveWords()),
		Act:      words(o["act"], ActWords()),
		Egress:   truthy(o["egress"]),
	}
	if s, ok := o.text("backend"); ok {
		g.Backend = cut(s, MaxBackend)
	}
	if n, ok := o.number("expiresAt"); ok && n > 0 {
		g.ExpiresAt = n
	}
	return g
}

// words keeps the known words of a JSON array, each once.
func words(raw Raw, known []Capability) []Capability {
	out := []Capability{}
	var list []Raw
	if raw.Kind() != '[' || json.Unmarshal(raw, &list, lenientText) != nil {
		return out
	}
	for _, v := range list {
		s, ok := unquote(v)
		c := Capability(s)
		if ok && slices.Contains(known, c) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// truthy is JavaScript's idea of a value that counts as true.
func truthy(raw Raw) bool {
	switch raw.Kind() {
	case 't', '{', '[':
		return true
	case '"':
		s, _ := unquote(raw)
		return s != ""
	case '0':
		n, ok := number(raw)
		return ok && n != 0
	}
	return false
}

// UnmarshalJSON reads and sanitises.
func (g *Grant) UnmarshalJSON(data []byte) error {
	*g = Sanitise(data)
	return nil
}

// MarshalJSON always writes both lists, so that a reader need not guess.
func (g Grant) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Perceive  []Capability `json:"perceive"`
		Act       []Capability `json:"act"`
		Backend   string       `json:"backend,omitzero"`
		Egress    bool         `json:"egress,omitzero"`
		ExpiresAt float64      `json:"expiresAt,omitzero"`
	}{g.Perceive, g.Act, g.Backend, g.Egress, g.ExpiresAt}, lenientText)
}
