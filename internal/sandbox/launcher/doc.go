// Package launcher is how a process goes into a box. The hub starts its own program again,
// with [Flag] and with the kernel's rules for the box as an open file; before anything
// else of the program begins, that process takes the rules upon itself, gives up
// what it does not need, and becomes the program of the agent. Package sandbox writes the
// rules and is the only user.
//
// It works in init, and its path is short and early in the alphabet, for one reason: a
// command starts in 3 ms this way. At the beginning of main it would be 20, because all packages
// of the program are initialised by then; Go does so in the order of their paths. For the same
// reason it imports nothing but what the runtime needs anyway.
//
// What it guarantees: either the program runs with all of the rules, or nothing runs.
package launcher

// Flag is the launcher's first argument; the path of the program and its arguments follow. A
// program that does not know it takes it for a mistake and ends.
const Flag = "-parley-box"

// Rules is the number of the open file that holds the rules.
const Rules = 3

// SocketsScoped is the version of Landlock from which on the rules themselves keep programs
// from the sockets of others. Before it, a filter does.
const SocketsScoped = 9
