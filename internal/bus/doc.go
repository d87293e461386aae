// Package bus carries live traffic between goroutines and between hubs.
//
// It has three verbs: publish to whoever listens now, subscribe, and request an answer. It only wakes
// and carries; it is never the record. What must survive a crash is written to the store first, and
// a subscriber that learns it has missed something reads the store again.
//
//	b := bus.NewLocal()                       // or bus.ConnectNATS(ctx, …) when there are several hubs
//	defer b.Close()
//	sub, err := b.Subscribe("room."+bus.Token(id), func(m bus.Msg) { … })
//	defer sub.Close()
//	err = b.Publish("room."+bus.Token(id), frame)
//
//	answer, err := b.Request(ctx, "machine."+bus.Token(id)+".call", call)
//	if errors.Is(err, bus.ErrNoResponders) { /* nobody holds that machine: offline, known at once */ }
//
// What both implementations guarantee (and bustest.Contract checks):
//
//   - The handler of one subscription is never called twice at the same time, and sees the messages
//     of one publisher in the order they were published. It runs on a goroutine of its own, never on
//     the publisher's, so it may block; it then delays only itself.
//   - Publish never waits for a subscriber. Each subscription has a bounded queue; when it is full the
//     oldest waiting message is dropped and Lagged is signalled. Lagged is also signalled after a
//     broken connection was restored, because messages may have passed meanwhile.
//   - A queue group gives each message to exactly one of its members.
//   - Request answers ErrNoResponders at once when nobody subscribes to the subject.
//   - Delivery is at most once.
//
// Between hubs every message is sealed under the cluster's secret, and there is no way to make a NATS
// bus without one. So a handler is only ever called with what a hub of this cluster sent for that
// subject, within the last minute, once; and what such a message says about who is behind it is as
// trustworthy as the hubs themselves. Whoever reaches the NATS servers without the secret sees
// subjects, sizes and times, can hold messages back and can answer a request with "no responders";
// nothing else. What does not open is dropped, counted (NATS.Refused) and never answered.
//
// Data is shared, not copied: a publisher does not change it after Publish, and a handler never does.
//
// Subjects are tokens joined by dots. In a subscription `*` stands for one token and a final `>` for one
// or more. Token makes any string safe to use as one token.
package bus
