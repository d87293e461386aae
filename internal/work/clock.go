package work

import "time"

// runsOut is when the task has used up its time. What it spent waiting for a person,
// or while no hub had it, does not count.
func (t *task) runsOut() time.Time {
	return t.started.Add(t.opts.Timeout()).Add(time.Duration(t.state.WaitedMicros) * time.Microsecond)
}

// keepTime stops the task's clock while it only waits for a person, and lets it go on
// afterwards. A task that waits says nothing, so that a week of it costs nothing.
func (t *task) keepTime(waits bool) {
	if waits == t.waits() {
		return
	}
	t.out.row = true
	if waits {
		t.state.WaitsSince = time.Now().UTC()
	} else {
		t.waited(t.state.WaitsSince)
		t.state.WaitsSince = time.Time{}
	}
	t.setClock()
}

// waits tells whether the task only waits for a person.
func (t *task) waits() bool { return !t.state.WaitsSince.IsZero() }

// waited gives the task back the time since then.
func (t *task) waited(since time.Time) {
	t.state.WaitedMicros += max(time.Since(since).Microseconds(), 0)
}

// setClock sets or stops what rings by itself.
func (t *task) setClock() {
	if t.waits() {
		t.deadline.stop()
		t.beat.stop()
		return
	}
	t.deadline.set(time.Until(t.runsOut()))
	t.beat.set(progressEvery)
}

// away gives a task that was taken over the time back in which no hub had it.
func (t *task) away(since time.Time) {
	if !t.waits() && !since.IsZero() {
		t.waited(since)
	}
	t.out.row = true
	t.refreshStatus()
	t.setClock()
}
