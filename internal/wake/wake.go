// Package wake is how one goroutine tells another that there is something to do.
//
//	bell := wake.New()
//	bell.Ring()       // whoever put work down
//	<-bell            // whoever looks for work, and then looks for all there is
//
// Ringing never waits. Rings while nobody listens are one: the bell says that something
// happened, never how often, so the listener reads what there is from where it is kept.
package wake

// Bell is a channel of room for one.
type Bell chan struct{}

// New makes a silent one.
func New() Bell { return make(Bell, 1) }

// Ring wakes the listener, now or when it comes. A nil bell wakes nobody.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
