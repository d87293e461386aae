// Package fault is how the fleet says no: the codes that the protocol fixes and a few
// of the hub's own, in one error that every surface shows alike.
package fault
