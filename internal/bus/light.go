package bus

// lightBus is a bus that can call a handler where the message is published.
type lightBus interface {
	subscribeLight(subject string, fn func(Msg)) (Subscription, error)
}

// SubscribeLight is Subscribe for a handler that only takes note: it may run on the
// publisher's goroutine, under the bus's locks, so it never waits for anything and
// does not use the bus. It saves a change of goroutine for each message where the
// bus can (the in-process one), which counts when a thousand readers are woken fifty
// times a second; on any other bus it is Subscribe.
func SubscribeLight(b Bus, subject string, fn func(Msg)) (Subscription, error) {
	if light, ok := b.(lightBus); ok {
		return light.subscribeLight(subject, fn)
	}
	return b.Subscribe(subject, fn)
}

// queueLightBus can do the same for a queue.
type queueLightBus interface {
	queueSubscribeLight(subject, queue string, fn func(Msg)) (Subscription, error)
}

// QueueSubscribeLight is QueueSubscribe for a handler as [SubscribeLight] has it. Between
// hubs it runs where messages arrive, so that it holds up all of them.
func QueueSubscribeLight(b Bus, subject, queue string, fn func(Msg)) (Subscription, error) {
	if light, ok := b.(queueLightBus); ok {
		return light.queueSubscribeLight(subject, queue, fn)
	}
	return b.QueueSubscribe(subject, queue, fn)
}

func (b *NATS) queueSubscribeLight(subject, queue string, fn func(Msg)) (Subscription, error) {
	return b.queueSubscribe(subject, queue, fn, true)
}

func (l *Local) subscribeLight(subject string, fn func(Msg)) (Subscription, error) {
	return l.subscribe(subject, "", fn, true)
}
