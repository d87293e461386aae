// Package builtin has the tools every hub comes with: shell, file_read,
// file_list, file_search, file_write, file_edit and web_fetch, and the [Policy]
// that says which commands need nobody's yes and which never run.
//
//	policy, err := builtin.NewPolicy(builtin.PolicyOptions{Boxed: box.Boxed()})
//	tools := builtin.Tools(builtin.Config{Policy: policy, Sandbox: box})
//
// Guarantees:
//
//   - File tools never leave the workspace of the call (or a configured root),
//     whatever a path contains and wherever a symbolic link points.
//   - web_fetch reaches public addresses only, unless a network is configured.
//     The address is checked when the connection is made, so neither names, odd
//     notations, redirects nor a changing DNS answer get around it.
//   - A shell command runs in a box ([sandbox.Sandbox]) where there are any, and
//     everything it started is gone when the call is over.
//   - The deny list holds in every mode. It stops accidents and crude attempts; it is the
//     box that confines.
//
// A success is the JSON text {"ok":true,"output":{…}}, at most 256 KiB and never
// cut in the middle. A failure is a [*tool.Error] with its type; [Failure] gives
// its JSON form {"ok":false,"error":{"type","message"}}.
package builtin
