// Package update replaces the endpoint's own program by a newer, signed one,
// and goes back when the new one does not reach the hub.
//
//	u := update.New(update.Options{Folder: state, Program: exe, Version: v, Keys: keys, …})
//	err := u.Stage(ctx, "1.4.0", url, sha256)   // download, verify, try; then swap
//
// Stage runs in the endpoint: allowed host → strictly newer → download with a
// running hash → hash and signature → format and architecture → the program's
// own word for its version. Anything wrong, and no file is left.
//
// The swap runs in a detached copy of the old program, outside the service:
// stop, keep the previous program, rename, start, wait for a completed
// handshake. None in time, and the previous program is put back and started.
// The machine's key, settings and switch are not touched.
package update
