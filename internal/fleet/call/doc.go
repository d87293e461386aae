// Package call is what a call on a machine is: what is asked for, how a person is asked
// first, where it stands, what it gave, and the log of all calls that were made or
// refused. Making one is the fleet's.
package call
