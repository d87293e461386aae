// Package memory keeps conversations: their messages, the archives compaction
// makes of them, notes, waiting turns, and the index that finds all of it again.
//
// It knows SQL and nothing of models, runs or clients. Package talk decides what
// happens; memory makes it durable and finds it again.
//
//	conv, err := mem.Open(ctx, key)                      // find or make
//	seqs, err := mem.Append(ctx, lease, conv.ID, msgs)   // message and index rows, one transaction
//	window, err := mem.Window(ctx, conv.ID)              // what the model sees now
//
// What it guarantees:
//
//   - A message once appended is never rewritten or removed, except with its whole
//     conversation. Compaction moves the start of the window; the raw messages stay
//     and every archive cites them.
//   - Appending costs the same in a conversation of ten messages and of a million.
//   - Key parts are compared byte for byte.
//   - Search finds the same on SQLite and PostgreSQL: one normaliser prepares text
//     and query for both. Tool output, arguments, reasoning and injected text are
//     never indexed.
package memory
