package bus

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// Refusal is why a message that came over NATS was dropped.
type Refusal string

// Why messages are refused.
const (
	// Unsealed ones are of a program that knows no seal: a stranger, or a hub of an
	// older version.
	Unsealed Refusal = "unsealed"
	// OtherKey ones are sealed for another cluster.
	OtherKey Refusal = "other_key"
	// Forged ones were sealed by nobody who has the key, or for another subject.
	Forged Refusal = "forged"
	// Clock ones were sent too long ago, or in the future.
	Clock Refusal = "clock"
	// Replayed ones were recorded and played again.
	Replayed Refusal = "replayed"
)

// Refusals lists them all.
func Refusals() []Refusal { return []Refusal{Unsealed, OtherKey, Forged, Clock, Replayed} }

// sayEvery keeps whoever floods the bus from filling the log too.
const sayEvery = time.Minute

var advice = map[Refusal]string{
	Unsealed: "is it a hub of an older version? all hubs of a cluster are upgraded together",
	OtherKey: "is a hub with another database on these NATS servers?",
	Forged:   "somebody who reaches the NATS servers is no hub of this cluster",
	Clock:    "the clocks of two hubs are too far apart, or somebody plays recorded messages",
	Replayed: "somebody who reaches the NATS servers plays recorded messages",
}

func reasonOf(err error) Refusal {
	switch {
	case errors.Is(err, errOtherKey):
		return OtherKey
	case errors.Is(err, errForged):
		return Forged
	case errors.Is(err, errClock):
		return Clock
	case errors.Is(err, errReplayed):
		return Replayed
	}
	return Unsealed
}

// refusals counts what was dropped, and says so once in a while.
type refusals struct {
	log  *slog.Logger
	each map[Refusal]*refusal
}

type refusal struct{ total, said, saidAt atomic.Int64 }

func newRefusals(log *slog.Logger) *refusals {
	r := &refusals{log: log, each: map[Refusal]*refusal{}}
	for _, why := range Refusals() {
		r.each[why] = new(refusal)
	}
	return r
}

func (r *refusals) count(err error, subject string, e *envelope, now time.Time) {
	why := reasonOf(err)
	c := r.each[why]
	total := c.total.Add(1)
	last := c.saidAt.Load()
	if now.UnixNano()-last < int64(sayEvery) || !c.saidAt.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	args := []any{"reason", string(why), "subject", subject, "times", total - c.said.Swap(total), "hint", advice[why]}
	if why == Clock { // it is authentic, so that its name and time mean something
		args = append(args, "hub", e.sender(), "its_clock_is_behind_by", now.Sub(e.sent).Round(time.Millisecond).String())
	}
	r.log.Warn("bus: a message was refused", args...)
}

// Refused is how many messages were dropped for that reason.
func (b *NATS) Refused(why Refusal) int64 {
	if c := b.refusals.each[why]; c != nil {
		return c.total.Load()
	}
	return 0
}
