// Package pause waits for a while, or until nobody wants to wait any more.
package pause

import (
	"context"
	"time"
)

// For waits so long. The error is why ctx ended, if it ended first.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
