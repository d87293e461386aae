// Package endpoint is the program on a managed machine. It dials the hub it
// trusts, does what it is asked within bounds, measures the machine, and obeys
// the person in front of it.
//
//	hub ─ request ─► known tool? ─► exact arguments? ─► switch ─► guard ─► tool
//	hub ◄─ response, telemetry, log ─
//
//	ep, err := endpoint.Open(endpoint.Options{State: dir, Config: cfg, Version: version})
//	err = ep.Run(ctx)       // enrols if need be, then serves until ctx ends
//
// What it guarantees:
//   - It never listens on a network. It serves only a hub that proved to hold
//     a pinned key.
//   - Every request has a deadline and a goroutine of its own; at the deadline
//     all it started is killed.
//   - The switch (package control) and the guard (package guard) have the last
//     word, in this order, whatever was approved elsewhere.
//   - Its key is made here and never leaves; a damaged one is an error, never
//     replaced.
//
// Packages: tools are the handlers, probe looks at the system, collect makes
// telemetry of it, command runs programs, truepath opens files, logs keeps and
// forwards records, update replaces the program, install makes it a service.
package endpoint
