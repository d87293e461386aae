package audit

import (
	"context"

	"parley.internal/internal/store"
)

// Recorder takes entries; *Chain is one. It is what everything that acts is given.
type Recorder interface {
	// Note writes soon and never blocks; for what must not wait for the disk.
	Note(entries ...Entry)
	// Append returns once the entries are on disk.
	Append(ctx context.Context, entries ...Entry) error
	// AppendTx writes in the transaction of the act: both are kept or neither.
	AppendTx(tx *store.Tx, entries ...Entry) error
}

// Trail is a Recorder that can also be asked.
type Trail interface {
	Recorder
	Query(ctx context.Context, f Filter) ([]Record, error)
}

// Nowhere keeps nothing: for tools and tests that need no trail.
type Nowhere struct{}

// Note forgets.
func (Nowhere) Note(...Entry) {}

// Append forgets.
func (Nowhere) Append(context.Context, ...Entry) error { return nil }

// AppendTx forgets.
func (Nowhere) AppendTx(*store.Tx, ...Entry) error { return nil }
