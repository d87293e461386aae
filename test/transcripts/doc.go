// Package transcripts keeps one conversation of each wire as text: what a client of ours and a real hub say to each
// other, frame by frame, with names in place of ids, times, keys and secrets. Whoever writes a client reads them; a
// change on a wire shows as a difference. `go test ./test/transcripts -update` writes them anew.
package transcripts
