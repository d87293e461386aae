// Package acpagent is a coding agent for tests: it speaks the Agent Client Protocol on its
// standard input and output and does what the lines of a prompt say, well or badly.
//
//	say TEXT            says it
//	ask COMMAND         asks whether it may run a command, and says what the answer was
//	twice A | B         asks about two commands at once
//	edit PATH           asks whether it may change a file
//	only-always COMMAND offers nothing but to be allowed for ever
//	read PATH           reads a file through its client; write PATH TEXT writes one
//	look PATH           opens a file by itself, as a program in a box can
//	run COMMAND         runs a command in a terminal of its client
//	reads TEXT          tells that it has read something
//	plan A | B          tells a plan; cost DOLLARS tells what the session cost
//	memory              says how many prompts the session had
//	die, hang, deaf, flood, long, garbage, unknown, stranger   behaves badly
//
// With the argument "noload" it cannot take up a session again.
package acpagent
