package cron

import (
	"fmt"
	"strconv"
	"strings"
)

// spec is what one field allows.
type spec struct {
	name     string
	min, max int
	names    []string // names[i] stands for min+i
	question bool     // `?` is another `*`
}

var (
	seconds  = spec{name: "second", max: 59}
	minutes  = spec{name: "minute", max: 59}
	hours    = spec{name: "hour", max: 23}
	days     = spec{name: "day", min: 1, max: 31, question: true}
	months   = spec{name: "month", min: 1, max: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}}
	weekdays = spec{name: "weekday", max: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, question: true}
	years    = spec{name: "year", min: minYear, max: maxYear}
)

// parse calls add for every number the field holds.
func (p spec) parse(field string, add func(int)) error {
	for part := range strings.SplitSeq(field, ",") {
		if err := p.part(part, add); err != nil {
			return fmt.Errorf("%w: %s %q: %w", ErrSyntax, p.name, field, err)
		}
	}
	return nil
}

func (p spec) part(part string, add func(int)) error {
	span, stepText, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		n, err := number(stepText)
		if err != nil || n == 0 || n > p.max {
			return fmt.Errorf("step %q is not between 1 and %d", stepText, p.max)
		}
		step = n
	}
	lo, hi, err := p.span(span, stepped)
	if err != nil {
		return err
	}
	for n := lo; n <= hi; n += step {
		add(n)
	}
	return nil
}

func (p spec) span(span string, stepped bool) (lo, hi int, err error) {
	if span == "*" || (span == "?" && p.question) {
		return p.min, p.max, nil
	}
	from, to, ranged := strings.Cut(span, "-")
	if lo, err = p.value(from); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		if hi, err = p.value(to); err != nil {
			return 0, 0, err
		}
		if p.name == weekdays.name && hi == 0 && lo > 0 {
			hi = 7 // SAT-SUN: the Sunday at the week's end
		}
	case stepped:
		hi = p.max
	default:
		hi = lo
	}
	if lo > hi {
		return 0, 0, fmt.Errorf("range %q runs backwards", span)
	}
	return lo, hi, nil
}

func (p spec) value(text string) (int, error) {
	for i, name := range p.names {
		if strings.EqualFold(name, text) {
			return p.min + i, nil
		}
	}
	n, err := number(text)
	if err != nil || n < p.min || n > p.max {
		return 0, fmt.Errorf("%q is not between %d and %d", text, p.min, p.max)
	}
	return n, nil
}

// number takes plain digits only: no sign, no spaces.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}
