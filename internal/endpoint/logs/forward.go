package logs

import (
	"context"
	"time"

	"parley.internal/client/kenny"
)

// Tunnel is where records go.
type Tunnel interface {
	// Free is how many frames fit the outbound queue now; 0 without a session.
	Free() int
	PushLog(kenny.Record) error
}

const (
	// perWake bounds one go, so that a flood of records does not crowd out
	// answers.
	perWake = 64
	// reserve is the room that is left for answers and telemetry.
	reserve = 16
	// pause is how long to wait for a crowded queue to drain.
	pause = 200 * time.Millisecond
)

// Forward drains the ring into the tunnel until ctx ends.
func Forward(ctx context.Context, r *Ring, t Tunnel) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		drain(r, t)
		if r.Len() > 0 && t.Free() > 0 {
			timer.Reset(pause)
		}
	}
}

// drain sends the oldest records while there is room. A record that was taken
// is gone, sent or not: it is never tried again.
func drain(r *Ring, t Tunnel) {
	for range perWake {
		if t.Free() <= reserve {
			return
		}
		rec, ok := r.popOldest()
		if !ok {
			return
		}
		_ = t.PushLog(rec) // best effort by design; saying so would be a record
	}
}
