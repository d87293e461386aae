// Package backup tests the way of a whole hub through a backup: one that was used in
// all its parts, on either database, is backed up while it runs, restored into either
// database, compared row by row, started and looked around in.
package backup
