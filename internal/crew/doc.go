// Package crew keeps goroutines that have a deep stack. Signatures and JSON need
// one, for a moment: a goroutine made for each job would grow its own every time,
// and one that waits for a connection ever after would keep it.
//
//	c := crew.New()
//	defer c.Close()
//	c.Do(func() { handshake() }) // waits
//	c.Go(func() { answer(call) }) // does not
//
// What it guarantees: no job waits for another, since there is always somebody; who
// has had nothing to do for a second goes home; Close waits for everybody.
package crew
