// Package bench measures Parley against the machine it runs on. It is what
// `parley bench` runs.
//
//	err := bench.Run(ctx, bench.Options{Rows: []string{"echo"}, Child: child}, stdout, stderr)
//
// A machine is never quiet and no two are alike, so a figure alone says little.
// Each Row therefore measures two things in the same run, in turns: our figure,
// and the limit, which is the same work done by the bare system (raw TCP, an
// append and a flush of the disk, a Go channel). Their ratio is what counts, and
// CPU time counts more than time on the clock. A row also repeats its work in
// tenfold steps, to show how the cost grows.
//
// Nothing here passes or fails: a missed target is printed as missed.
//
// To add a row: a file named after it, with a function that returns a Row, and
// its name in rows.go. Servers run in a process of their own (roles.go), so that
// their memory and CPU time are theirs alone.
package bench
