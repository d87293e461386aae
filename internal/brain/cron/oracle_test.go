package cron

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawn is a schedule as plain lists, for an oracle that knows no bit sets.
type drawn struct {
	sec, min, hour, day, month, dow []int // nil = any
}

func draw(t *rapid.T, name string, lo, hi int) []int {
	if rapid.Bool().Draw(t, name+" any") {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.IntRange(lo, hi), 1, 4, rapid.ID[int]).Draw(t, name)
}

func (d drawn) text() string {
	field := func(v []int) string {
		if v == nil {
			return "*"
		}
		var s []string
		for _, n := range v {
			s = append(s, strconv.Itoa(n))
		}
		return strings.Join(s, ",")
	}
	return strings.Join([]string{field(d.sec), field(d.min), field(d.hour), field(d.day), field(d.month), field(d.dow)}, " ")
}

func (d drawn) matches(t time.Time) bool {
	in := func(v []int, n int) bool { return v == nil || slices.Contains(v, n) }
	date := in(d.day, t.Day()) && in(d.dow, int(t.Weekday()))
	if d.day != nil && d.dow != nil {
		date = slices.Contains(d.day, t.Day()) || slices.Contains(d.dow, int(t.Weekday()))
	}
	return date && in(d.month, int(t.Month())) && in(d.hour, t.Hour()) && in(d.min, t.Minute()) && in(d.sec, t.Second())
}

func TestNextAgreesWithBruteForceOverSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{
			sec: draw(t, "sec", 0, 59), min: draw(t, "min", 0, 59), hour: draw(t, "hour", 0, 23),
			day: draw(t, "day", 1, 31), month: draw(t, "month", 1, 12), dow: draw(t, "dow", 0, 6),
		}
		compare(t, d, time.Second, 100_000)
	})
}

func TestNextAgreesWithBruteForceOverDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{
			sec: []int{0}, min: []int{0}, hour: []int{0},
			day: draw(t, "day", 1, 31), month: draw(t, "month", 1, 12), dow: draw(t, "dow", 0, 6),
		}
		compare(t, d, 24*time.Hour, 9*366)
	})
}

func compare(t *rapid.T, d drawn, step time.Duration, steps int) {
	s, err := Parse(d.text())
	if err != nil {
		t.Fatal(err)
	}
	day := rapid.Int64Range(0, 40_000).Draw(t, "start day")
	after := time.Unix(day*86400, 0).UTC()
	if step == time.Second {
		after = after.Add(time.Duration(rapid.IntRange(0, 86399).Draw(t, "start second")) * time.Second)
	}
	got, ok := s.Next(after)
	last := after
	for range steps {
		last = last.Add(step)
		if d.matches(last) {
			if !ok || !got.Equal(last) {
				t.Fatalf("%q after %v: got %v %v, want %v", d.text(), after, got, ok, last)
			}
			return
		}
	}
	if ok && !got.After(last) {
		t.Fatalf("%q after %v: got %v, the oracle found nothing up to %v", d.text(), after, got, last)
	}
}
