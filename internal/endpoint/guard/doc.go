// Package guard has the last word on a machine: it refuses single dangerous
// calls, whoever approved them and whatever the switch says.
//
//	g := guard.New(kenny.Linux, log)
//	g.SetOperator(frame.Rules)                    // adds; never takes away
//	err := g.CheckCall(id, "shell_exec", args)    // "blocked", naming the rule
//	err = g.CheckFile(id, path, opened.Final...)  // where a file really is
//
// Which rules there are is in protocol/kenny/policy. The guard adds what only
// the machine can know: where a path leads. It is a seat belt, not a sandbox.
package guard
