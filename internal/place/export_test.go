package place

import (
	"context"

	"parley/internal/redo"
)

// RollUp sums what has settled, as the housekeeper does.
func (p *Place) RollUp(ctx context.Context) error { return p.rollUp(ctx) }

// Digest seals the last full hour, as the housekeeper does.
func (p *Place) Digest(ctx context.Context) error { return p.digest(ctx) }

// Tidy gives rows to what has waited for long, as happens by itself.
func (p *Place) Tidy(ctx context.Context) error { return p.tidy(ctx) }

// HoldFew has no more than so many messages without rows.
func (p *Place) HoldFew(most int) { p.front.most = most }

// HoldNone has no message in memory that the database has.
func (p *Place) HoldNone() { p.front.awake = 0 }

// Fresh is how many messages have no row of their own.
func (p *Place) Fresh() int {
	p.front.mu.Lock()
	defer p.front.mu.Unlock()
	return p.front.count
}

// Vanish is the end of the process: nothing is written any more.
func (p *Place) Vanish() {
	f := &p.front
	f.bundling.Lock()
	defer f.bundling.Unlock()
	if f.log != nil {
		_ = f.log.Close()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log, f.pending, f.untold, f.settled = nil, nil, nil, nil
}

// CloseLog has the log fail from now on.
func (p *Place) CloseLog() { _ = p.front.log.Close() }

// FillLog has the log be full, or not any more.
func (p *Place) FillLog(full bool) { p.unsteadyLog().full = full }

// FillDisk has the log not grow any more.
func (p *Place) FillDisk() { p.unsteadyLog().most = forTakes }

// BreakLog has the log write what it is given and say that it failed, or not any
// more.
func (p *Place) BreakLog(breaks bool) { p.unsteadyLog().breaks = breaks }

func (p *Place) unsteadyLog() *unsteady {
	one, ok := p.front.log.(*unsteady)
	if !ok {
		one = &unsteady{relayLog: p.front.log}
		p.front.log = one
	}
	return one
}

// unsteady is a log that does not always do what it should.
type unsteady struct {
	relayLog
	full, breaks bool
	most         int64
}

func (u *unsteady) Reserve(n int64) error {
	if u.full || u.most > 0 && n > u.most {
		return redo.ErrFull
	}
	return u.relayLog.Reserve(n)
}

func (u *unsteady) Append(r redo.Record, sync bool) error {
	if err := u.relayLog.Append(r, sync); err != nil || !u.breaks {
		return err
	}
	return redo.ErrBroken
}

// Awake is how many bytes of messages are in memory.
func (p *Place) Awake() int64 {
	p.front.mu.Lock()
	defer p.front.mu.Unlock()
	return p.front.memory
}

// MayHaveRows tells whether the database is asked for a queue.
func (p *Place) MayHaveRows(queue string) bool { return p.front.mayHaveRows(queue) }
