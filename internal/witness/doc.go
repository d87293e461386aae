// Package witness keeps the checkpoints of the audit trail outside the database, so
// that whoever owns the database cannot cut off the end of the trail unseen.
//
//	beside := witness.File(filepath.Join(data, "audit", "checkpoints.jsonl"))
//	keeper := witness.New(logger, witness.Target{Name: …, Put: beside.Append}, …)
//	trail, err := audit.Open(ctx, db, audit.Options{OnCheckpoint: keeper.Offer, …})
//	…
//	trail.Close()  // signs a last checkpoint
//	keeper.Close() // and it is kept
//
// A target is a file beside the database, a file on another disk, or another hub that
// is told over HTTPS. Each has a goroutine and a queue of its own: one that is slow or
// away holds up neither the trail nor the others. What it did not take is tried again
// for as long as the hub runs, and counted.
package witness
