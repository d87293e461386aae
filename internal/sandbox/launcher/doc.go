// Package launcher is how a process goes into a box. The hub starts its own program again,
// with [Flag], with the kernel's rules for the box as an open file and with its orders as
// another; before anything else of the program begins, that process makes the box around
// itself, gives up what it does not need, and becomes the program of the agent, or starts it
// and waits for its end where it is the first process of a box. Package sandbox writes rules
// and orders and is the only user.
//
// It works in init, and its path is short and early in the alphabet, for one reason: a
// command starts in 3 ms this way. At the beginning of main it would be 20, because all packages
// of the program are initialised by then; Go does so in the order of their paths. For the same
// reason it imports nothing but what the runtime needs anyway, and os/signal.
//
// What it guarantees: either the program runs with all of the rules and orders, or nothing runs.
package launcher

// Flag is the launcher's first argument; the path of the program and its arguments follow. A
// program that does not know it takes it for a mistake and ends.
const Flag = "-parley-box"

// Nothing in place of a program's path makes the box and ends: a trial whether it can be made.
const Nothing = "-"

// Wait in place of a program's path waits until its input ends: a process whose user namespace
// can be borrowed meanwhile.
const Wait = "wait"

// Numbers of open files: the rules, the orders, and the socket by which the box's way out is
// handed to the hub (only where an order says [Listen]). Further ones follow.
const (
	Rules  = 3
	Orders = 4
	Socket = 5
	More   = 6
)

// ExitPort is where the way out of a box with a network of its own listens, inside.
const ExitPort = 3128

// SocketsScoped is the version of Landlock from which on the rules themselves keep programs
// from the sockets of others. Before it, a filter does.
const SocketsScoped = 9

// An order is a verb and two words, each ended by a zero byte. They are carried out in
// the order in which they stand.
const (
	// Root makes an empty file system the root; the first word is a folder to make it in. What
	// was there before lies in [OldRoot] until [Shut].
	Root = "root"
	// Bind shows a file or folder of the old root (first word) at a path (second word).
	Bind = "bind"
	// Place shows the open file whose number is the first word, a mount, at a path.
	Place = "place"
	// Again shows what is at one path of the new root at another one, too.
	Again = "again"
	// Terminal shows the program's own terminal.
	Terminal = "terminal"
	// Link makes a symbolic link (first word) to a path (second word), where nothing is yet.
	Link = "link"
	// Proc mounts the box's own /proc; the first word are its rights as Landlock has them.
	Proc = "proc"
	// Shut takes the old root away and makes everything read-only.
	Shut = "shut"
	// Writable makes a path writable again.
	Writable = "writable"
	// Folder is where the program begins.
	Folder = "folder"
	// Loopback starts the network of the box, in which there is nothing else.
	Loopback = "loopback"
	// Listen makes the way out and hands it to the hub.
	Listen = "listen"
	// Sockets says which sockets may be made: [Any], [Stream] or [None].
	Sockets = "sockets"
	// Limit sets a resource limit (first word) to a number.
	Limit = "limit"
)

// What sockets a program may make besides pairs.
const (
	// Any: the box has a network of its own.
	Any = "any"
	// Stream: TCP only, where Landlock confines the ports.
	Stream = "stream"
	// None: no network.
	None = "none"
)

// OldRoot is where the machine's files lie while the box is being made.
const OldRoot = "/.outside"
