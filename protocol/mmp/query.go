package mmp

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Query reads the parameters of a URL; the first problem stays, and is asked for
// at the end.
type Query struct {
	values url.Values
	err    error
}

// OpenQuery begins to read the parameters of a request.
func OpenQuery(v url.Values) *Query { return &Query{values: v} }

// Err is the first problem that was met.
func (q *Query) Err() error { return q.err }

// Refuse keeps a problem unless there was one before.
func (q *Query) Refuse(err error) {
	if q.err == nil {
		q.err = err
	}
}

// Fail refuses a parameter by its name.
func (q *Query) Fail(name string) { q.Refuse(InvalidParam(name)) }

// Text reads a parameter of at most limit characters.
func (q *Query) Text(name string, limit int) string {
	s := q.values.Get(name)
	if utf8.RuneCountInString(s) > limit || !utf8.ValidString(s) {
		q.Fail(name)
		return ""
	}
	return s
}

// Count reads a whole number; too large becomes the maximum, too small the
// minimum, which for most is zero, so that a negative one is refused first.
func (q *Query) Count(name string, otherwise, low, high int) int {
	s := q.values.Get(name)
	if s == "" {
		return otherwise
	}
	if strings.Trim(s, "0123456789") != "" {
		q.Fail(name)
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return high // only digits, and too many of them
	}
	return max(low, min(n, high))
}

// Flag reads a yes or a no.
func (q *Query) Flag(name string, otherwise bool) bool {
	switch q.values.Get(name) {
	case "":
		return otherwise
	case "true", "1", "yes":
		return true
	case "false", "0", "no":
		return false
	}
	q.Fail(name)
	return otherwise
}

// Time reads a time in any form that ParseTime knows.
func (q *Query) Time(name string) time.Time {
	s := q.values.Get(name)
	if s == "" {
		return time.Time{}
	}
	t, err := ParseTime(s)
	if err != nil {
		q.Fail(name)
	}
	return t
}

// Agent reads the acting agent; a token fills it in or contradicts it.
func (q *Query) Agent(token string) string {
	id := q.Text("agent_id", MaxID*2)
	if id != "" && !ValidID(id) {
		q.Refuse(ErrInvalidID)
	}
	if q.err != nil {
		return ""
	}
	id, q.err = ActingAgent("agent_id", id, token)
	return id
}
