// Package tools does what a hub may ask a machine for: one handler for every
// tool of the catalogue.
//
//	set := tools.New(tools.Deps{OS: kenny.Linux, Guard: g, …})
//	result, err := set.Run(ctx, tools.Call{ID: id, Tool: tool, Args: args})
//
// Arguments have been checked, the switch and the guard asked, before a handler
// runs; file handlers ask the guard once more, about the file they opened.
// Handlers end with ctx. Their errors are [*wire.Error] values: not_found for a
// missing path, bad_args for a path of the wrong kind, unsupported where the
// system lacks what the tool needs, timeout, and exec_failed for the rest.
//
// What differs between systems is in internal/endpoint/probe and in files with
// build tags; what only reads text is plain code, tested everywhere.
package tools
