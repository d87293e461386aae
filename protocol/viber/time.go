package viber

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Time is a moment as the protocol writes it: UTC, milliseconds, Z.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// At makes a Time.
func At(t time.Time) Time { return Time{t} }

// String returns the wire form.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalJSONTo writes the wire form.
func (t Time) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteToken(jsontext.String(t.String()))
}

// UnmarshalJSONFrom reads any ISO 8601 time. One that cannot be read is zero:
// times from a server are for people to look at, and no reason to lose a message.
func (t *Time) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	t.Time, _ = timeIn(v)
	return nil
}

// timeIn reads a JSON string that holds a time.
func timeIn(v jsontext.Value) (time.Time, error) {
	if v.Kind() != '"' {
		return time.Time{}, errNoTime
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return time.Time{}, err
	}
	return ParseTime(string(s))
}

// ParseTime reads a date and time of ISO 8601 as clients write it: with or
// without fraction, seconds, zone (then UTC) or time of day.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "20060102T150405Z0700", "20060102T150405", time.DateOnly,
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: %.40q", errNoTime, s)
}
