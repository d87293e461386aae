package work

import (
	"sync/atomic"
	"time"
)

// alarm is a timer of a task. It rings by waking the task, which then asks each of
// its alarms: a timer that the task waited at itself would be set and taken down
// again for every token.
type alarm struct {
	timer *time.Timer
	rang  atomic.Bool
	due   time.Time // zero: not set
}

// newAlarm makes an alarm that calls ring.
func newAlarm(ring func()) *alarm {
	a := &alarm{}
	a.timer = time.AfterFunc(time.Hour, func() {
		a.rang.Store(true)
		ring()
	})
	a.timer.Stop()
	return a
}

func (a *alarm) set(d time.Duration) {
	a.due = time.Now().Add(d)
	a.timer.Reset(d)
}

func (a *alarm) stop() {
	a.due = time.Time{}
	a.timer.Stop()
}

// rings tells, once, that the time has come. One that was set anew or stopped just
// when it rang does not.
func (a *alarm) rings() bool {
	if !a.rang.Load() || !a.rang.Swap(false) {
		return false
	}
	if a.due.IsZero() || time.Now().Before(a.due) {
		return false
	}
	a.due = time.Time{}
	return true
}
