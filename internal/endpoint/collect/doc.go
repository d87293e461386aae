// Package collect measures a machine: the sections of a telemetry snapshot.
//
//	c := collect.New(kenny.Linux, log)
//	snapshot := c.Collect(ctx, nil)                     // everything
//	snapshot = c.Collect(ctx, []string{"disk"})         // only this
//
// What it guarantees:
//   - The eight mandatory sections are always there; where one makes no sense
//     it says so (applicable: false). Others are left out where they make none.
//   - Eight measure at a time, each for at most twenty seconds. One that fails
//     or panics becomes a crit section that says so, one that is late a warn;
//     the others are intact.
//   - A snapshot fits a telemetry frame: the longest lists are cut first, and
//     a section that was cut says so.
//
// Where the hub has a rule for a section (package health), the section's own
// status is that rule's.
package collect
