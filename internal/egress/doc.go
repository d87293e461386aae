// Package egress is the way out of a box: a proxy, for HTTP and for whatever goes through
// CONNECT, that belongs to one program of an agent and goes by the names of hosts.
//
//	exit := egress.New(egress.Options{Guard: guard, Hosts: settings, Permit: askAPerson})
//	run, err := box.Prepare(sandbox.Program{…, Exit: exit})
//
//	program ── HTTP_PROXY ── Exit ── listed, or allowed by a person? ── publicnet ── the host
//
// What it guarantees:
//
//   - A host that is not listed is asked about once, however many connections want it, and
//     the answer holds for this program. Nobody can be flooded with questions: a program has a
//     few at a time and not many in its life.
//   - What is not on the public internet is not reached, whatever its name says and whoever says
//     yes, unless the operator listed it (net.allow_private).
//   - When the program's box closes, so does every connection.
package egress
