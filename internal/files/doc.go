// Package files keeps pictures, PDFs and voice notes: every file once, named by the digest of
// its bytes, for conversations, tasks, rooms and whatever else refers to it.
//
//	f, err := s.Put(ctx, who, "photo.png", body)           // a day to be used somewhere
//	list, err := s.HoldFor(ctx, who, files.Conversation(id), f.Digest)
//	data, err := s.Bytes(ctx, files.Conversation(id), f.Digest)
//	err = s.ReleaseTx(tx, files.Conversation(id))          // with the conversation
//
// A file is there as long as somebody holds it:
//
//	files ── file_parts            the bytes, once
//	  ▲
//	file_holds (whose, for what)   who may see it, and why it is kept
//
// What it guarantees:
//
//   - A digest is not a right. Whoever holds a file, because they put it there or said it somewhere,
//     gets it; for everybody else it does not exist.
//   - What a file is, its bytes say; neither its name nor its sender does. What no model looks
//     at, and everything a browser would run, is refused.
//   - A person's files count once each against the person's quota.
//   - With its last hold a file is gone, in the same transaction.
package files
