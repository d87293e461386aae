package store

import (
	"strings"
	"time"
)

// Filter is the condition of a listing, put together piece by piece.
type Filter struct {
	parts []string
	// Args belong to the question marks of Where.
	Args []any
}

// Add adds a piece that must hold.
func (q *Filter) Add(sql string, args ...any) {
	q.parts, q.Args = append(q.parts, sql), append(q.Args, args...)
}

// Text adds that a column has a value, if one is asked for.
func (q *Filter) Text(column, value string) {
	if value != "" {
		q.Add(column+" = ?", value)
	}
}

// In adds that a column has one of some values; without any, nothing is listed.
func (q *Filter) In(column string, values []any) {
	if len(values) == 0 {
		q.Add("1 = 0")
		return
	}
	q.Add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
}

// Between adds a time; zero has no bound.
func (q *Filter) Between(column string, since, until time.Time) {
	if !since.IsZero() {
		q.Add(column+" >= ?", Micros(since))
	}
	if !until.IsZero() {
		q.Add(column+" < ?", Micros(until))
	}
}

// Where is the condition; without any piece it holds for everything.
func (q *Filter) Where() string {
	if len(q.parts) == 0 {
		return "1 = 1"
	}
	return strings.Join(q.parts, " AND ")
}
