package cron

import (
	"math/bits"
	"time"
)

// Next is the first firing strictly after the given moment, in UTC; ok is false
// when there is none before the end of 2099.
func (s Schedule) Next(after time.Time) (at time.Time, ok bool) {
	t := after.UTC().Truncate(time.Second).Add(time.Second)
	if t.Year() < minYear {
		t = time.Date(minYear, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	from := clock{t.Hour(), t.Minute(), t.Second()}
	for day.Year() <= maxYear {
		next := s.skip(day)
		if next.Equal(day) {
			if c, ok := s.clockFrom(from); ok {
				return day.Add(c.duration()), true
			}
			next = day.AddDate(0, 0, 1)
		}
		day, from = next, clock{}
	}
	return time.Time{}, false
}

// skip returns day itself if its date fires, else a later day worth a look.
func (s Schedule) skip(day time.Time) time.Time {
	switch y, m, _ := day.Date(); {
	case !s.hasYear(y):
		return time.Date(y+1, 1, 1, 0, 0, 0, 0, time.UTC)
	case !s.month.has(int(m)):
		return time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
	case !s.hasDate(day):
		return day.AddDate(0, 0, 1)
	default:
		return day
	}
}

// clock is a time of day.
type clock struct{ hour, minute, second int }

func (c clock) duration() time.Duration {
	return time.Duration(c.hour)*time.Hour + time.Duration(c.minute)*time.Minute + time.Duration(c.second)*time.Second
}

// clockFrom is the first firing time of a day at or after c.
func (s Schedule) clockFrom(c clock) (clock, bool) {
	h, ok := s.hour.from(c.hour)
	if !ok {
		return clock{}, false
	}
	if h > c.hour {
		return s.first(h), s.fires()
	}
	if m, ok := s.minute.from(c.minute); ok {
		low, _ := s.second.from(0)
		if m > c.minute {
			return clock{h, m, low}, s.fires()
		}
		if sec, ok := s.second.from(c.second); ok {
			return clock{h, m, sec}, true
		}
		if m, ok = s.minute.from(m + 1); ok {
			return clock{h, m, low}, s.fires()
		}
	}
	if h, ok = s.hour.from(h + 1); ok {
		return s.first(h), s.fires()
	}
	return clock{}, false
}

// first is the first firing within an hour.
func (s Schedule) first(hour int) clock {
	m, _ := s.minute.from(0)
	sec, _ := s.second.from(0)
	return clock{hour, m, sec}
}

// fires is false only for the zero Schedule.
func (s Schedule) fires() bool { return s.minute != 0 && s.second != 0 }

// from is the smallest member that is at least n.
func (b set) from(n int) (int, bool) {
	if n > 63 {
		return 0, false
	}
	rest := uint64(b) >> uint(n)
	if rest == 0 {
		return 0, false
	}
	return n + bits.TrailingZeros64(rest), true
}
