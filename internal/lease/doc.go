// Package lease answers who owns a thing now: a task, a room, a conversation, a
// machine's tunnel. With several hubs on one database exactly one of them runs
// each thing, and a hub that lost a thing cannot write to it any more.
//
//	leases, err := lease.Join(ctx, db, "hub-1", lease.Options{})
//	mine, err := leases.Acquire(ctx, "task.42")        // *HeldError if another hub has it
//	err = db.Write(ctx, func(tx *store.Tx) error {
//		if err := mine.Check(tx); err != nil { return err }   // fenced: ErrLost
//		…
//	})
//
// A lease is a row with its owner and an epoch. The epoch rises with every
// change of owner; Check compares it inside the transaction that writes, and on
// PostgreSQL locks the row so that a change of owner cannot slip in between.
//
// Leases have no timers of their own. A hub renews one row while it lives, and
// everything it holds lives with it: thousands of leases cost one small write
// every second or two. When a hub has been silent for its time to live, its things
// may be taken over at once; Orphans lists them.
package lease
