package eventlog

import (
	"parley.internal/internal/store"
	"parley.internal/internal/turns"
)

// maxGroup bounds the events of one transaction, so that its first caller does
// not wait for thousands of strangers.
const maxGroup = 2048

// entry is one call of Append, or of anything else that must not run beside one.
type entry struct {
	guard  Guard
	stream string
	events []Event
	first  int64
	// alone, if set, is run in a transaction of its own instead of appending, and
	// then after it.
	alone func(tx *store.Tx) error
	then  func()
	err   error
}

func (e *entry) weight() int {
	if e.alone != nil {
		return maxGroup + 1
	}
	return len(e.events)
}

// turn appends what waits: however many streams, numbering and inserting them takes a
// few statements. Readers are told before those who appended.
func (l *Log) turn(calls []*turns.Call[*entry]) (news func(), err error) {
	entries := make([]*entry, len(calls))
	for i, c := range calls {
		entries[i] = c.What
	}
	written, err := l.commit(calls[0].Ctx, entries)
	for i, c := range calls {
		c.Err = entries[i].err
	}
	return func() { l.publish(written) }, err
}
