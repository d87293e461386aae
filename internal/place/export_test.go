package place

import "context"

// RollUp sums what has settled, as the housekeeper does.
func (p *Place) RollUp(ctx context.Context) error { return p.rollUp(ctx) }

// Digest seals the last full hour, as the housekeeper does.
func (p *Place) Digest(ctx context.Context) error { return p.digest(ctx) }
