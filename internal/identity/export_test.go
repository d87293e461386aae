package identity

import "context"

// Purge runs the hourly forgetting now.
func Purge(ctx context.Context, d *Directory) error { return d.purge(ctx) }
