package cron

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrSyntax is wrapped by every error of Parse and ParseQuiet.
var ErrSyntax = errors.New("bad schedule")

// Years outside this span are refused; the upper end bounds every search.
const (
	minYear = 1970
	maxYear = 2099
)

// maxLen keeps a hostile schedule from costing anything.
const maxLen = 1024

// Schedule says when something fires. The zero value never does.
type Schedule struct {
	text                  string
	second, minute        set
	hour, day, month, dow set
	year                  [(maxYear-minYear)/64 + 1]set
	anyDay, anyDow        bool
}

// named are the schedules that have a name everywhere.
var named = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// set is a set of small numbers.
type set uint64

func (b set) has(n int) bool { return b&(1<<uint(n)) != 0 }

// Parse reads a schedule of five, six or seven fields.
func Parse(text string) (Schedule, error) {
	if len(text) > maxLen {
		return Schedule{}, fmt.Errorf("%w: longer than %d bytes", ErrSyntax, maxLen)
	}
	fields := strings.Fields(text)
	s := Schedule{text: strings.Join(fields, " ")}
	if plain, ok := named[strings.ToLower(s.text)]; ok {
		fields = strings.Fields(plain)
	}
	switch len(fields) {
	case 5:
		fields = append([]string{"0"}, append(fields, "*")...)
	case 6:
		fields = append(fields, "*")
	case 7:
	default:
		return Schedule{}, fmt.Errorf("%w: %d fields, need 5 (min hour day month weekday), 6 (with seconds), 7 (with year), or a name such as @daily", ErrSyntax, len(fields))
	}
	if err := s.fill(fields); err != nil {
		return Schedule{}, err
	}
	return s, nil
}

func (s *Schedule) fill(f []string) error {
	small := []struct {
		dst  *set
		spec spec
	}{
		{&s.second, seconds},
		{&s.minute, minutes},
		{&s.hour, hours},
		{&s.day, days},
		{&s.month, months},
		{&s.dow, weekdays},
	}
	for i, p := range small {
		err := p.spec.parse(f[i], func(n int) { *p.dst |= 1 << uint(n) })
		if err != nil {
			return err
		}
	}
	if s.dow.has(7) { // both 0 and 7 are Sunday
		s.dow |= 1
	}
	s.anyDay, s.anyDow = wild(f[3]), wild(f[5])
	return years.parse(f[6], func(n int) {
		n -= minYear
		s.year[n/64] |= 1 << uint(n%64)
	})
}

// wild tells whether a day field leaves the choice to the other one.
func wild(field string) bool {
	return strings.HasPrefix(field, "*") || strings.HasPrefix(field, "?")
}

// String is the schedule as it was written, with single spaces.
func (s Schedule) String() string { return s.text }

func (s Schedule) hasYear(y int) bool {
	if y < minYear || y > maxYear {
		return false
	}
	y -= minYear
	return s.year[y/64].has(y % 64)
}

func (s Schedule) hasDate(t time.Time) bool {
	d, w := s.day.has(t.Day()), s.dow.has(int(t.Weekday()))
	if s.anyDay || s.anyDow {
		return d && w
	}
	return d || w
}
