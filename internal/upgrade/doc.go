// Package upgrade changes a hub's program for a newer one, and goes back when that does
// not become ready.
//
//	signature → backup → the new program reads the backup → stop → swap → start → ready
//	                                                          └── swap back ←──┘ not ready
//
// Nothing of a release is unpacked before its signature was checked, and nothing is changed
// before the new program has shown on a copy that it can read what the old one kept. The
// database of SQLite is put aside while nobody uses it, because a newer program may change it
// so that the older one refuses it; with PostgreSQL the backup is the way back.
package upgrade
