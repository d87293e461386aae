// Package board is what one finds at a meeting place: who is registered, what hangs
// on the posting board, which skills were deposited, and what the place tells about
// itself and about what went on in it.
package board
