package brain

import "time"

// watch notices silence. Hearing something only notes the time; the timer is set
// again when it fires too early, so that a token costs no timer.
type watch struct {
	timer *time.Timer
	due   time.Time
}

// newWatch starts watching; 0 never fires.
func newWatch(limit time.Duration) watch {
	if limit <= 0 {
		return watch{}
	}
	return watch{timer: time.NewTimer(limit), due: time.Now().Add(limit)}
}

// heardAt notes when something was heard; zero is nothing.
func (w *watch) heardAt(at time.Time, limit time.Duration) {
	if w.timer == nil || limit <= 0 || at.IsZero() {
		return
	}
	due := at.Add(limit)
	if due.Before(w.due) {
		w.timer.Reset(time.Until(due))
	}
	w.due = due
}

func (w *watch) c() <-chan time.Time {
	if w.timer == nil {
		return nil
	}
	return w.timer.C
}

// over is asked when the timer fired: it tells whether the time is really up.
func (w *watch) over() bool {
	left := time.Until(w.due)
	if left <= 0 {
		return true
	}
	w.timer.Reset(left)
	return false
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
