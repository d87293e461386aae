package fleet

import (
	"strings"
	"time"

	"parley/internal/identity"
	"parley/internal/store"
)

// filter is the condition of a listing, put together piece by piece.
type filter struct {
	parts []string
	args  []any
}

func (q *filter) add(sql string, args ...any) {
	q.parts, q.args = append(q.parts, sql), append(q.args, args...)
}

// text adds that a column has a value, if one is asked for.
func (q *filter) text(column, value string) {
	if value != "" {
		q.add(column+" = ?", value)
	}
}

// in adds that a column has one of some values; without any, nothing is listed.
func (q *filter) in(column string, values []any) {
	if len(values) == 0 {
		q.add("1 = 0")
		return
	}
	q.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
}

// between adds a time; zero has no bound.
func (q *filter) between(column string, since, until time.Time) {
	if !since.IsZero() {
		q.add(column+" >= ?", store.Micros(since))
	}
	if !until.IsZero() {
		q.add(column+" < ?", store.Micros(until))
	}
}

// where is the condition; without any piece it holds for everything.
func (q *filter) where() string {
	if len(q.parts) == 0 {
		return "1 = 1"
	}
	return strings.Join(q.parts, " AND ")
}

// filterFor begins a listing of what concerns machines: one, or those the caller
// reaches.
func (f *Fleet) filterFor(who identity.Actor, machine string) (*filter, *Error) {
	q := &filter{}
	switch {
	case machine != "":
		if _, err := f.known(who, machine); err != nil {
			return nil, err
		}
		q.add("machine = ?", machine)
	case who.Scopes.Limited():
		q.in("machine", anys(f.within(who)))
	}
	return q, nil
}

// anys makes arguments of a list.
func anys[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
