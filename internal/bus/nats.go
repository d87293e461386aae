package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// arrivals is how many messages may wait between the socket and the mailboxes. Moving one on
	// takes far less time than reading it, so this only covers pauses of the scheduler.
	arrivals = 1 << 16
	// pingEvery finds a dead server in about three of these; the library's default would take minutes.
	pingEvery = 3 * time.Second
	// flushWait bounds how long Subscribe and Close wait for the server to confirm.
	flushWait = 2 * time.Second
	// reconnectMin and reconnectMax bound the pause between two rounds through the servers.
	reconnectMin, reconnectMax = 50 * time.Millisecond, 2 * time.Second
)

// NATSConfig says how to reach a NATS cluster, and what the hubs on it share.
type NATSConfig struct {
	Servers Servers
	// Secret is known to the hubs of one cluster and nobody else: SecretSize random bytes
	// or more. Every message is sealed under a key made from it.
	Secret []byte
	// Name tells this hub apart, to other hubs and in the server's connection list.
	Name string
	// Limits bounds the queue of each subscription.
	Limits Limits
	// Log receives connection changes and refused messages; nil discards them.
	Log *slog.Logger
}

// NATS is the bus between hubs: a client of an existing NATS cluster. It reconnects for ever. While it
// is disconnected Publish and Request fail with ErrDisconnected instead of piling up traffic nobody wants
// later; once it is back, every subscription is signalled Lagged.
//
// The servers and whoever reaches them are not trusted: they see which subjects are used, when and
// by how many bytes, and they can hold messages back. They cannot read, make, change or repeat one.
type NATS struct {
	nc       *nats.Conn
	log      *slog.Logger
	servers  Servers
	limits   Limits
	running  sync.WaitGroup
	arrivals chan *nats.Msg
	done     chan struct{}
	stop     func() // once

	seal     *seal
	refusals *refusals
	memory   memory // of dispatch alone
	answers  answers
	hub      string
	session  session
	count    atomic.Uint64
	// messages and replies are what our subjects begin with on the servers.
	messages, replies string

	mu     sync.RWMutex
	closed bool
	subs   map[*nats.Subscription]*natsSub
	link   context.Context // ends when the connection to a server breaks: answers would not find us
	cut    context.CancelFunc
}

var _ Bus = (*NATS)(nil)

// ConnectNATS returns a connected bus. It keeps trying until ctx ends. There is no NATS bus without
// a secret.
func ConnectNATS(ctx context.Context, cfg NATSConfig) (*NATS, error) {
	b, err := newNATS(cfg)
	if err != nil {
		return nil, err
	}
	access, err := cfg.Servers.options()
	if err != nil {
		return nil, err
	}
	connected := make(chan struct{}, 1)
	nc, err := nats.Connect(cfg.Servers.list(), append(append(access, b.options(cfg)...),
		nats.ConnectHandler(func(*nats.Conn) { connected <- struct{}{} }))...)
	if err != nil {
		b.cutLink()
		return nil, fmt.Errorf("bus: connect to nats: %w", b.servers.redact(err))
	}
	b.nc = nc
	select {
	case <-connected:
	case <-ctx.Done():
		nc.Close()
		b.cutLink()
		return nil, fmt.Errorf("bus: connect to nats: %w: %w", ctx.Err(), b.servers.redact(cmp.Or(nc.LastError(), ErrDisconnected)))
	}
	b.running.Go(b.dispatch)
	if err := b.begin(ctx); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

func newNATS(cfg NATSConfig) (*NATS, error) {
	l, err := newSeal(cfg.Secret)
	if err != nil {
		return nil, err
	}
	b := &NATS{
		log:      cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		servers:  cfg.Servers,
		limits:   cfg.Limits.withDefaults(),
		arrivals: make(chan *nats.Msg, arrivals),
		done:     make(chan struct{}),
		subs:     make(map[*nats.Subscription]*natsSub),
		seal:     l,
		memory:   memory{},
		hub:      cfg.Name[:min(len(cfg.Name), maxHubName)],
		messages: subjectRoot + l.cluster + ".m.",
		replies:  subjectRoot + l.cluster + ".r.",
	}
	b.refusals = newRefusals(b.log)
	if _, err := rand.Read(b.session[:]); err != nil {
		return nil, err
	}
	b.link, b.cut = context.WithCancel(context.Background())
	b.stop = sync.OnceFunc(b.shutDown)
	return b, nil
}

func (b *NATS) options(cfg NATSConfig) []nats.Option {
	return []nats.Option{
		nats.Name(cfg.Name),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // a rotated credential must not take the hub down for good
		nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(2),
		nats.Timeout(flushWait),
		nats.DisconnectErrHandler(b.disconnected),
		nats.ReconnectHandler(b.reconnected),
		nats.ErrorHandler(b.asyncError),
	}
}

// reconnectDelay grows and is random, so that all hubs do not come back in the same instant.
func reconnectDelay(rounds int) time.Duration {
	d := min(reconnectMin<<min(rounds, 10), reconnectMax)
	return d/2 + mathrand.N(d/2)
}

// disconnected fails the requests in flight; the library would let them wait for their deadline.
func (b *NATS) disconnected(_ *nats.Conn, err error) {
	b.log.Warn("bus: nats connection lost", "error", b.servers.redact(err))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut()
	b.link, b.cut = context.WithCancel(context.Background())
}

func (b *NATS) reconnected(nc *nats.Conn) {
	b.log.Info("bus: nats connection restored", "server", nc.ConnectedUrlRedacted())
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, s := range b.subs {
		s.lag()
	}
}

func (b *NATS) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if watchedFor(err) {
		return
	}
	b.log.Warn("bus: nats error", "error", b.servers.redact(err))
	if s := b.find(sub); s != nil && errors.Is(err, nats.ErrSlowConsumer) {
		s.lag()
	}
}

func (b *NATS) find(sub *nats.Subscription) *natsSub {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.subs[sub]
}

// dispatch moves messages to the mailboxes. One goroutine for all subscriptions: it never blocks, and
// a subscription then costs no goroutine of its own while idle.
func (b *NATS) dispatch() {
	for {
		select {
		case m := <-b.arrivals:
			if s := b.find(m.Sub); s != nil {
				b.deliver(s, m)
			}
		case <-b.done:
			return
		}
	}
}

// deliver gives a message to its subscription if a hub of this cluster sent it, for this
// subject, now. Whoever sent another one gets no sign of it.
func (b *NATS) deliver(s *natsSub, m *nats.Msg) {
	subject, now := strings.TrimPrefix(m.Subject, b.messages), time.Now()
	e, data, err := b.open(s, subject, m.Data, now)
	if err != nil {
		b.refusals.count(err, subject, &e, now)
		return
	}
	msg := Msg{Subject: subject, Data: data}
	if e.kind == requested {
		msg.Respond = func(data []byte) error { return b.publish(answered, b.replySubject(e.nonce), subject, e.nonce, data) }
	}
	s.push(msg)
}

func (b *NATS) open(s *natsSub, subject string, raw []byte, now time.Time) (e envelope, data []byte, err error) {
	if e, err = parse(raw); err != nil {
		return e, nil, err
	}
	if e.kind != published && e.kind != requested {
		return e, nil, errForged
	}
	if b.memory.known(e.nonce, s) {
		return e, nil, errReplayed
	}
	if data, err = b.seal.open(e, subject, stampNonce{}); err != nil {
		return e, nil, err
	}
	missed, err := b.memory.admit(&e, s, now)
	if missed {
		s.lag()
	}
	return e, data, err
}

// next is the head of a message of this hub.
func (b *NATS) next(k kind) envelope {
	return envelope{kind: k, nonce: newNonce(b.session, b.count.Add(1)), sent: time.Now(), hub: b.hub}
}

// Publish implements Bus.
func (b *NATS) Publish(subject string, data []byte) error {
	if err := checkSubject(subject, false); err != nil {
		return err
	}
	return b.publish(published, b.messages+subject, subject, stampNonce{}, data)
}

// publish seals data for a subject and sends it to a place on the servers: the same, except for
// an answer, which is sealed for the subject of its request.
func (b *NATS) publish(k kind, to, subject string, about stampNonce, data []byte) error {
	if err := checkSize(data, b.MaxPayload()); err != nil {
		return err
	}
	s, _ := scratches.Get().(*scratch)
	defer s.free()
	return b.wrap(b.nc.Publish(to, b.seal.close(s, b.next(k), subject, about, data)))
}

// Subscribe implements Bus.
func (b *NATS) Subscribe(subject string, fn func(Msg)) (Subscription, error) {
	return b.subscribe(subject, fn, func() (*nats.Subscription, error) {
		return b.nc.ChanSubscribe(b.messages+subject, b.arrivals)
	})
}

// QueueSubscribe implements Bus.
func (b *NATS) QueueSubscribe(subject, queue string, fn func(Msg)) (Subscription, error) {
	if err := checkQueue(queue); err != nil {
		return nil, err
	}
	return b.subscribe(subject, fn, func() (*nats.Subscription, error) {
		return b.nc.ChanQueueSubscribe(b.messages+subject, queue, b.arrivals)
	})
}

func (b *NATS) subscribe(subject string, fn func(Msg), open func() (*nats.Subscription, error)) (Subscription, error) {
	if err := checkSubject(subject, true); err != nil {
		return nil, err
	}
	box := newMailbox(fn, b.limits, &b.running)
	s, err := b.register(box, open)
	if err != nil {
		return nil, err
	}
	// Wait until the server knows: whoever learns of us next can reach us. When that cannot be had, the
	// connection is breaking; the library subscribes again on the next one and Lagged says so.
	if !b.nc.IsConnected() {
		return s, nil
	}
	if err := b.nc.FlushTimeout(flushWait); err != nil {
		b.log.Debug("bus: subscription not confirmed", "subject", subject, "error", err)
	}
	return s, nil
}

// register holds the lock across open, so that dispatch finds even the first message's owner.
func (b *NATS) register(box *mailbox, open func() (*nats.Subscription, error)) (*natsSub, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	since := time.Now() // before the server knows: what was sent earlier cannot be for it
	sub, err := open()
	if err != nil {
		return nil, b.wrap(err)
	}
	s := &natsSub{mailbox: box, bus: b, sub: sub, since: since}
	b.subs[sub] = s
	return s, nil
}

// Request implements Bus.
func (b *NATS) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := checkSubject(subject, false); err != nil {
		return nil, err
	}
	if err := checkSize(data, b.MaxPayload()); err != nil {
		return nil, err
	}
	if err := b.Healthy(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	link := b.currentLink()
	head := b.next(requested)
	q := b.answers.ask(head.nonce, subject)
	defer b.answers.forget(q)
	if err := b.ask(head, subject, data); err != nil {
		return nil, err
	}
	select {
	case a := <-q.answer:
		if a.nobody {
			return nil, ErrNoResponders
		}
		return a.data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-link.Done():
		return nil, cmp.Or(b.Healthy(), ErrDisconnected) // the link broke, and may be back already
	}
}

// ask sends a request. It names the place for answers to the server, which answers there itself when
// nobody listens.
func (b *NATS) ask(head envelope, subject string, data []byte) error {
	s, _ := scratches.Get().(*scratch)
	defer s.free()
	sealed := b.seal.close(s, head, subject, stampNonce{}, data)
	return b.wrap(b.nc.PublishRequest(b.messages+subject, b.replySubject(head.nonce), sealed))
}

func (b *NATS) currentLink() context.Context {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.link
}

// wrap turns the library's errors into ours.
func (b *NATS) wrap(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, nats.ErrNoResponders):
		return ErrNoResponders
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		return ErrClosed
	case errors.Is(err, nats.ErrMaxPayload):
		return ErrTooLarge
	case errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrReconnectBufExceeded):
		return ErrDisconnected
	case errors.Is(err, nats.ErrBadSubject):
		return ErrBadSubject
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return fmt.Errorf("%w: %w", ErrDisconnected, b.servers.redact(err))
	}
	return fmt.Errorf("bus: %w", b.servers.redact(err))
}

// MaxPayload implements Bus; it is the limit of the server this hub is connected to, without what
// the seal takes.
func (b *NATS) MaxPayload() int {
	if n := b.nc.MaxPayload(); n > 0 {
		return max(0, int(n)-sealingCost)
	}
	return DefaultMaxPayload
}

// Healthy implements Bus.
func (b *NATS) Healthy() error {
	switch s := b.nc.Status(); s {
	case nats.CONNECTED:
		return nil
	case nats.CLOSED:
		return ErrClosed
	default:
		return fmt.Errorf("%w: %s", ErrDisconnected, strings.ToLower(s.String()))
	}
}

// Close implements Bus.
func (b *NATS) Close() error {
	b.stop()
	b.running.Wait()
	return nil
}

func (b *NATS) shutDown() {
	b.mu.Lock()
	b.closed = true
	for _, s := range b.subs {
		s.mailbox.close()
	}
	clear(b.subs)
	b.mu.Unlock()
	if b.nc.IsConnected() {
		if err := b.nc.FlushTimeout(flushWait); err != nil {
			b.log.Warn("bus: closed before everything was sent", "error", err)
		}
	}
	b.nc.Close()
	close(b.done)
	b.cutLink()
}

// cutLink ends the requests in flight for good. The library tells of a lost connection in a
// goroutine of its own, also while and after its connection is closed.
func (b *NATS) cutLink() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut()
}

// natsSub is one subscription on a NATS bus.
type natsSub struct {
	*mailbox
	bus   *NATS
	sub   *nats.Subscription
	since time.Time
}

// Close implements Subscription.
func (s *natsSub) Close() {
	s.bus.mu.Lock()
	delete(s.bus.subs, s.sub)
	s.bus.mu.Unlock()
	s.mailbox.close()
	// Fails only when the connection is closed, or this was called before: either way it is gone.
	_ = s.sub.Unsubscribe()
}

// Lagged implements Subscription.
func (s *natsSub) Lagged() <-chan struct{} { return s.lagged }
