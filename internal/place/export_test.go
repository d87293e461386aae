package place

import "context"

// RollUp sums what has settled, as the housekeeper does.
func (p *Place) RollUp(ctx context.Context) error { return p.rollUp(ctx) }

// Tidy gives rows to what has waited for long, as happens by itself.
func (p *Place) Tidy(ctx context.Context) error { return p.tidy(ctx) }

// HoldFew has no more than so many messages without rows.
func (p *Place) HoldFew(most int) { p.front.most = most }

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
