// Package audit keeps the hub's one trail of who did what: append-only, chained
// by hashes, and signed at intervals, so that nobody can change, remove, insert
// or reorder an entry without Verify telling which.
//
//	trail, err := audit.Open(ctx, db, audit.Options{Key: hubKey})
//	err = trail.Append(ctx, audit.Entry{Actor: "person:alice", Action: audit.TaskEnded, Target: id})
//	trail.Note(audit.Entry{…})                       // best effort, on disk within a second
//	err = trail.AppendTx(tx, entry)                  // with the act itself, in its transaction
//	report, err := trail.Verify(ctx)                 // report.OK, report.BadSeq, report.Problem
//
// The chain: hash(n) = SHA-256(hash(n-1) ‖ canonical(n)), where hash(0) is 32
// zero bytes and canonical(n) is the entry as one JSON object after RFC 8785
// (sorted names, no white space) with exactly the members action, actor, at
// (Unix microseconds), detail, digest, duration (microseconds), on_behalf_of,
// outcome, seq, target.
//
// A checkpoint is a hub's Ed25519 signature over the number and hash of an
// entry. It is written after every thousand entries, every ten minutes in which
// something happened, and when the log is closed. Cutting off the end of the
// trail is found up to the last checkpoint. Somebody who owns the database could
// cut the checkpoints too, so they are handed on (Options.OnCheckpoint, see
// internal/witness), and Verify and Compare hold the trail against what was kept:
//
//	report, err := trail.Verify(ctx, audit.Kept{Where: "a file", Checkpoints: kept})
//	cuts, err := trail.AcknowledgeCuts(ctx, "person:alice", "a restored backup", kept)
//
// What can be written is the list in actions.go; who writes is given a Recorder.
//
// Content never enters the trail. Digest stands in for arguments, and anything
// that looks like one of our secrets is blotted out before it is written.
//
// One hub's entries are gathered by one goroutine and written in groups. Several
// hubs on one PostgreSQL share one chain: the row that holds its end is locked
// while a group is appended.
package audit
