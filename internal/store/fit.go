package store

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"
)

var (
	errNoSuchText  = errors.New("PostgreSQL cannot keep a text that has a NUL in it or is not UTF-8")
	errNoNaN       = errors.New("SQLite cannot keep NaN")
	errNoSuchWhole = errors.New("PostgreSQL cannot keep a fraction where a whole number belongs")
)

// fit gives a value the type its column wants, without changing what it says.
// SQLite keeps any type in any column, so a row of SQLite may have text where
// PostgreSQL insists on bytes. What a database cannot keep at all is refused:
// nobody would notice a change.
func fit(dialect Dialect, kind string, v any) (any, error) {
	if f, ok := v.(float64); ok && dialect == SQLite && math.IsNaN(f) {
		return nil, errNoNaN
	}
	if dialect == SQLite || v == nil {
		return v, nil
	}
	switch kind {
	case "bytea":
		if text, ok := v.(string); ok {
			return []byte(text), nil
		}
	case "text":
		return fitText(v)
	case "bigint":
		if f, ok := v.(float64); ok {
			if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
				return nil, errNoSuchWhole
			}
			return int64(f), nil
		}
	case "double precision":
		if n, ok := v.(int64); ok {
			return float64(n), nil
		}
	}
	return v, nil
}

func fitText(v any) (any, error) {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	if text, ok := v.(string); ok && (strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)) {
		return nil, errNoSuchText
	}
	return v, nil
}
