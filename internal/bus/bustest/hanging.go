package bustest

import (
	"sync"

	"parley.internal/internal/bus"
)

// Hanging is the bus of a hub that can be stopped as SIGSTOP or a paused machine would:
// it stays connected, takes what is sent to it, and does not look at it.
type Hanging struct {
	bus.Bus
	mu   sync.Mutex
	gate chan struct{}
}

// Hang stops it until the returned function is called.
func (b *Hanging) Hang() (goOn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	gate := make(chan struct{})
	b.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

// Subscribe implements bus.Bus.
func (b *Hanging) Subscribe(subject string, fn func(bus.Msg)) (bus.Subscription, error) {
	return b.Bus.Subscribe(subject, b.behindGate(fn))
}

// QueueSubscribe implements bus.Bus.
func (b *Hanging) QueueSubscribe(subject, queue string, fn func(bus.Msg)) (bus.Subscription, error) {
	return b.Bus.QueueSubscribe(subject, queue, b.behindGate(fn))
}

func (b *Hanging) behindGate(fn func(bus.Msg)) func(bus.Msg) {
	return func(m bus.Msg) {
		b.mu.Lock()
		gate := b.gate
		b.mu.Unlock()
		if gate != nil {
			<-gate
		}
		fn(m)
	}
}
