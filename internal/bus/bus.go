package bus

import "context"

// DefaultMaxPayload is what a NATS server allows unless told otherwise, without what the seal
// takes. The in-process bus keeps the same limit, so that nothing works on one hub and fails on three.
const DefaultMaxPayload = 1<<20 - sealingCost

// Bus carries messages between everyone connected to it. All methods may be called at the same time.
type Bus interface {
	// Publish hands data to every subscription that matches subject now. It does not wait for them.
	Publish(subject string, data []byte) error
	// Subscribe calls fn for each message whose subject matches, one at a time and in order.
	Subscribe(subject string, fn func(Msg)) (Subscription, error)
	// QueueSubscribe is Subscribe as a member of a queue group: each message goes to one member.
	QueueSubscribe(subject, queue string, fn func(Msg)) (Subscription, error)
	// Request publishes data and returns the first answer. It waits until ctx ends, so give ctx a deadline.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	// MaxPayload is the largest message in bytes; more is ErrTooLarge.
	MaxPayload() int
	// Healthy is nil while messages can travel.
	Healthy() error
	// Close flushes what was published, ends all subscriptions and pending requests, and waits
	// for handlers that are still running. Not to be called from a handler.
	Close() error
}

// Msg is one delivered message.
type Msg struct {
	// Subject is what it was published to.
	Subject string
	// Data is shared with other subscribers; do not change it.
	Data []byte
	// Respond answers a request; nil when nobody waits for an answer.
	Respond func([]byte) error
}

// Subscription is a standing order for messages.
type Subscription interface {
	// Close ends the subscription. No handler call starts after it returns; one may still be running.
	Close()
	// Lagged receives a value when messages were, or may have been, missed since the last one.
	Lagged() <-chan struct{}
}
