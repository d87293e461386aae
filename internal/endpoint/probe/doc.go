// Package probe looks at a machine and changes nothing: volumes, processes,
// services, logs, network, and what else tools and telemetry report.
//
//	services, err := probe.Services(ctx)
//
// Each question has one answer type and one function per system, in files with
// build tags. Reading what other programs print is kept in plain functions
// (parse_*.go) that run and are tested everywhere. Where a system has no such
// thing the error wraps [ErrUnsupported].
package probe
