package terminal

import "time"

// alarm is a timer for a select loop; its channel is nil while it is not set.
type alarm struct {
	c     <-chan time.Time
	timer *time.Timer
}

func newAlarm() *alarm { return &alarm{} }

// set rings after d, unless it is set already.
func (a *alarm) set(d time.Duration) {
	if a.c == nil {
		a.reset(d)
	}
}

// reset rings after d in any case.
func (a *alarm) reset(d time.Duration) {
	a.stop()
	a.timer = time.NewTimer(d)
	a.c = a.timer.C
}

// clear forgets it.
func (a *alarm) clear() {
	a.stop()
	a.c = nil
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
