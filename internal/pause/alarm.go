package pause

import "time"

// Alarm is a timer for a select loop; its channel is nil while it is not set. The zero
// value is ready.
type Alarm struct {
	C     <-chan time.Time
	timer *time.Timer
}

// Set rings after d, unless it is set already.
func (a *Alarm) Set(d time.Duration) {
	if a.C == nil {
		a.Reset(d)
	}
}

// Reset rings after d in any case.
func (a *Alarm) Reset(d time.Duration) {
	a.Clear()
	a.timer = time.NewTimer(d)
	a.C = a.timer.C
}

// Clear forgets it.
func (a *Alarm) Clear() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.C = nil
}
