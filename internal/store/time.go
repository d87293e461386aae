package store

import "time"

// Micros is how a time is written to a column; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time reads what Micros wrote.
func Time(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Bool is how a truth value is written to a column.
func Bool(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
