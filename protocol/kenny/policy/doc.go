// Package policy decides which calls to a machine are refused whatever else
// was allowed: deny rules over scripts, arguments and paths.
//
// The guard on a machine and the mirror in a hub use the same code. The guard
// has the last word; the mirror only answers sooner.
//
//	set := policy.Builtin()                       // compiled in, cannot be weakened
//	set, skipped := set.WithOperator(frame.Rules) // operators only ever add
//	if rule, hit := set.CheckCall(kenny.Linux, "shell_exec", args); hit {
//		return &kenny.Error{Code: kenny.CodeBlocked, Message: rule.Refusal()}
//	}
//
// Patterns are Go's RE2, so judging is linear in the text whatever a pattern
// or a script looks like. A text is matched as it came and in normal forms in
// which the usual disguises are undone: see [ScriptForms] and [PathForms]. A
// shell script is also read as a shell reads it, word by word, so that a rule
// sees the command that would run: "cd /usr; sudo rm -rf b'in'" is a removal of
// /usr/bin. What a script only prints or looks for is taken out before.
//
// Built-in rules live in catalogue/, one file per class of harm, each rule with
// examples it must refuse and examples it must let through; the tests hold it
// to both, plain and disguised.
//
// This is a seat belt, not a sandbox. It stops accidents and the lazy attack:
// a model led astray by a log line, a pasted one-liner, a wrong drive letter.
// Whoever may run scripts and means harm can write one that no pattern knows;
// approval, scopes and the switch at the machine are there for that.
package policy
