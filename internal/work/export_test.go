package work

import (
	"context"
	"time"
)

// Purge forgets what is old, now.
func (w *Work) Purge(ctx context.Context, now time.Time) error { return w.purge(ctx, now) }
