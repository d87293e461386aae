// Package redo is a small durable log beside a database: a caller that has to
// acknowledge something quickly appends it here, with one sequential write and one
// flush, and hands it to the database in bulk a moment later. The log is read only
// after a crash.
//
//	log, found, err := redo.Open(dir, owner)
//	…  write found into the database, durably, leaving out what is there already
//	err = log.Reset()
//
//	err = log.Append(redo.Record{Num: n, At: now, Body: body}, true) // acknowledge now
//	…  a second later, once all that was appended is known to the database's writer:
//	settled, ok := log.Switch() // later appends go to the other file
//	…  write everything appended before the switch into the database, durably
//	settled()
//
// # What it promises
//
// A record whose synced Append returned nil comes back from Open, with everything
// appended before it, until it was settled: through the death of the process, and
// through a loss of power. Records that were appended without sync since then may be
// lost, the last ones first. What comes back is in order and is what was appended,
// bit for bit; it comes back from every Open until Reset.
//
// Two things the caller has to know. A settled record can come back too, since
// settling erases nothing: whoever must not apply it twice keeps the highest number
// it took in the same database transaction. And a record whose Append failed with
// ErrBroken may or may not come back: nobody knows what the disk holds.
//
// # The files
//
// There are two, written in turns, so that one can be filled while the other's
// records are on their way into the database:
//
//	relay-a.redo   header (4096 bytes) │ record │ record │ … │ leftovers and zeros
//	header         magic, version, salt, owner, CRC-32C
//	record         length u32 │ CRC-32C u32 │ num i64 │ at i64 │ body      little-endian
//
// Appends stay inside space that was written with zeros and flushed before, a MiB at
// a time: they change neither the file's size nor its blocks, and that is what makes
// the flush cheap. A file never shrinks, and never exceeds 16 MiB.
//
// # Why reading stops at the right place
//
// A settled file is written over from its beginning and nothing is erased, so behind
// the newest record lie leftovers of earlier rounds. Reading stops at the first
// record whose checksum is wrong or whose number is not greater than the one before.
// A leftover is never believed:
//
//   - It was appended earlier, and Append insists on growing numbers, so its number
//     is smaller than that of any record of this round.
//   - A new round may end in the middle of an old record, whose body came from
//     outside and may look like a record with any number. But each checksum starts
//     from the file's salt, which is random and never leaves the file.
//   - After a loss of power a record may be missing while one behind it reached the
//     disk. Numbers do not help there: Open cannot report that one, so the caller may
//     give its number again. Therefore nothing is appended behind what Open found:
//     Append refuses until Reset has given both files a new salt, which makes
//     everything in them unreadable. Open itself does so when it found nothing, and
//     so the files of another owner, or with a damaged header, are begun anew.
//
// A torn record has a wrong checksum, and it was not acknowledged. Before the first
// append after a Switch the file left behind is flushed if need be: a record never
// outlives one that was appended before it.
//
// # One writer
//
// Nothing here keeps two processes from one log. They share a data folder with the
// database, and the hub locks that before it opens anything in it.
package redo
