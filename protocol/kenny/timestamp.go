package kenny

import (
	"fmt"
	"strings"
	"time"
)

// Timestamp is an RFC 3339 time as the other side spelled it. It stays text,
// because reading and writing it must not change a frame.
type Timestamp string

// At spells a time for the wire, in UTC.
func At(t time.Time) Timestamp { return Timestamp(t.UTC().Format(time.RFC3339Nano)) }

// Time reads the timestamp.
func (s Timestamp) Time() (time.Time, error) {
	t, err := time.Parse(time.RFC3339, strings.ToUpper(string(s)))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not an RFC 3339 time", clip(string(s)))
	}
	return t, nil
}
