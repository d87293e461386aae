package mask

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
)

// Sign stands where a secret was.
const Sign = "[masked]"

const (
	// minSecret keeps words that occur everywhere from being taken for secrets.
	minSecret = 8
	// ownBody is how much of a secret of the hub's own must be there: also one that
	// was cut off is gone. Whole ones have 43 characters.
	ownBody = 20
)

// own are the forms of what identity gives out: tokens, cookies of pages, login
// links.
var own = []form{{"prl_", ownBody}, {"prc_", ownBody}, {"prk_", ownBody}}

// form is a kind of secret: what it begins with, and how many letters, digits, "-"
// and "_" must follow at least.
type form struct {
	prefix string
	body   int
}

// Mask knows what is secret now. It may be used from several goroutines.
type Mask struct {
	list func() []string
	last atomic.Pointer[lastList]
}

// lastList is what the list was when it was asked for last, and what came of it.
type lastList struct {
	list  []string
	known known
}

// New makes a mask of a list that is asked for every time, since keys change.
func New(list func() []string) *Mask { return &Mask{list: list} }

// Text is a complete text without its secrets.
func (m *Mask) Text(s string) string {
	known := m.known()
	if !known.in(s) {
		return s
	}
	stream := Stream{known: known}
	return string(append(stream.Push([]byte(s)), stream.End()...))
}

// Stream masks a text that comes in pieces.
func (m *Mask) Stream() *Stream { return &Stream{known: m.known()} }

// StreamAt goes on where another stream stood.
func (m *Mask) StreamAt(at Mark) *Stream {
	return &Stream{known: m.known(), shown: at.Shown, swallow: at.Swallow}
}

// Now is a mask that stays as it is at this moment, for whoever has many texts.
func (m *Mask) Now() *Mask {
	k := m.known()
	now := New(func() []string { return nil })
	now.last.Store(&lastList{nil, k})
	return now
}

// known is what one text is compared with.
type known struct {
	values []string // longest first
	forms  []form
}

func (m *Mask) known() known {
	if m == nil {
		return known{forms: own}
	}
	list := m.list()
	if last := m.last.Load(); last != nil && slices.Equal(last.list, list) {
		return last.known
	}
	k := compile(list)
	m.last.Store(&lastList{list, k})
	return k
}

func compile(list []string) known {
	k := known{forms: own}
	for _, s := range list {
		if prefix, pattern := strings.CutSuffix(s, "*"); pattern && len(prefix) >= 3 {
			k.forms = append(slices.Clip(k.forms), form{prefix, minSecret})
		}
		if len(s) >= minSecret {
			k.values = append(k.values, spellings(s)...)
		}
	}
	slices.SortFunc(k.values, func(a, b string) int { return len(b) - len(a) })
	return k
}

// spellings are a value as it is, as JSON writes it, and as a terminal shows its lines.
func spellings(s string) []string {
	out := []string{s}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(s) == nil {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n"))
		}
	}
	out = append(out, strings.ReplaceAll(s, "\n", "\r\n"))
	slices.Sort(out)
	return slices.Compact(out)
}

// in reports whether a text may hold a secret; most hold none.
func (k known) in(s string) bool {
	return slices.ContainsFunc(k.forms, func(f form) bool { return strings.Contains(s, f.prefix) }) ||
		slices.ContainsFunc(k.values, func(v string) bool { return strings.Contains(s, v) })
}
