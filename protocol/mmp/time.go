package mmp

import (
	"fmt"
	"strings"
	"time"
)

// stampLayout is the only form we send: UTC, whole seconds, Z.
const stampLayout = "2006-01-02T15:04:05Z"

// Stamp writes a time as the protocol wants it.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// ParseTime reads what peers send: RFC 3339 with or without fraction, zone or
// clock. A time without a zone is UTC.
func ParseTime(s string) (time.Time, error) {
	s = strings.TrimSuffix(strings.TrimSpace(s), " UTC")
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05", time.DateOnly,
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", Clip(s, 40))
}

// Time is a time in an answer: null when zero. Reading one that makes no sense
// gives zero, since no answer should be lost over a decoration.
type Time struct{ time.Time }

// At wraps a time for an answer.
func At(t time.Time) Time { return Time{t} }

// MarshalJSON writes the protocol's form.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + Stamp(t.Time) + `"`), nil
}

// UnmarshalJSON reads any form [ParseTime] knows.
func (t *Time) UnmarshalJSON(raw []byte) error {
	t.Time = time.Time{}
	if s, err := Unquote(raw); err == nil {
		t.Time, _ = ParseTime(s) // zero when it is none
	}
	return nil
}

// Clip shortens foreign text for an error message.
func Clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
