// Package command runs the programs an endpoint needs, under a bound: a
// deadline after which everything they started is killed, and a limit on what
// they may print.
//
//	res, err := command.Run(ctx, command.Spec{Path: "/bin/sh", Args: []string{"-c", script}})
//
// What it guarantees:
//   - When ctx ends, the program and its descendants are killed before Run
//     returns: a job object on Windows, the process group and every descendant
//     elsewhere, on Linux also those that left both by forking twice.
//   - What a program leaves running in the background ends with it, unless the
//     Spec keeps it; either way the Result names it.
//   - Output beyond the cap is read and dropped; head and tail are kept.
//   - Secrets of the endpoint's own environment are not passed on.
package command
