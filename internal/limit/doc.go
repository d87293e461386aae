// Package limit gives everybody their share and nobody more. It counts by
// network (see Network), or by any other name, in three ways:
//
//	Window   how often: so many requests in a minute
//	Crowd    how many at once: so many sockets that have not said who they are
//	Guesses  how often wrong: so many failed logins, and then a lock
//
// All of them are safe for use by several goroutines, live in memory, keep a
// bounded number of names, and refuse with an *Error that says when to come again.
package limit
