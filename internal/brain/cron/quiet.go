package cron

import (
	"fmt"
	"time"
)

// Quiet is a daily window from start up to but not including end. The zero
// value is never quiet.
type Quiet struct {
	start, end int // minutes since midnight; equal = no window
}

// ParseQuiet reads two `HH:MM` texts; both empty means no quiet hours. An end
// before the start wraps midnight.
func ParseQuiet(start, end string) (Quiet, error) {
	if start == "" && end == "" {
		return Quiet{}, nil
	}
	from, err := clockMinutes(start)
	if err != nil {
		return Quiet{}, fmt.Errorf("%w: quiet start %w", ErrSyntax, err)
	}
	to, err := clockMinutes(end)
	if err != nil {
		return Quiet{}, fmt.Errorf("%w: quiet end %w", ErrSyntax, err)
	}
	if from == to {
		return Quiet{}, fmt.Errorf("%w: quiet hours begin and end at %s", ErrSyntax, start)
	}
	return Quiet{start: from, end: to}, nil
}

// Contains reports whether t falls into the window, by the clock of t's own
// location: pass local time for local quiet hours.
func (q Quiet) Contains(t time.Time) bool {
	m := t.Hour()*60 + t.Minute()
	if q.start <= q.end {
		return q.start <= m && m < q.end
	}
	return m >= q.start || m < q.end
}

func clockMinutes(text string) (int, error) {
	if len(text) != 5 || text[2] != ':' {
		return 0, fmt.Errorf("%q is not HH:MM", text)
	}
	h, errH := number(text[:2])
	m, errM := number(text[3:])
	if errH != nil || errM != nil || h > 23 || m > 59 {
		return 0, fmt.Errorf("%q is not HH:MM", text)
	}
	return h*60 + m, nil
}
