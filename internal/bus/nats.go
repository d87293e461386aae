package bus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
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

// NATSConfig says how to reach a NATS cluster.
type NATSConfig struct {
	// URLs are the servers, nats://host:port (tls:// for TLS), each entry one or a comma-separated list.
	URLs []string
	// Name tells this hub apart in the server's connection list.
	Name string
	// Credentials is the path of a .creds file, if the servers ask for one.
	Credentials string
	// TLS is for servers with a private authority or client certificates.
	TLS *tls.Config
	// Limits bounds the queue of each subscription.
	Limits Limits
	// Log receives connection changes; nil discards them.
	Log *slog.Logger
}

// NATS is the bus between hubs: a client of an existing NATS cluster. It reconnects for ever. While it
// is disconnected Publish and Request fail with ErrDisconnected instead of piling up traffic nobody wants
// later; once it is back, every subscription is signalled Lagged.
type NATS struct {
	nc       *nats.Conn
	log      *slog.Logger
	limits   Limits
	running  sync.WaitGroup
	arrivals chan *nats.Msg
	done     chan struct{}
	stop     func() // once

	mu     sync.RWMutex
	closed bool
	subs   map[*nats.Subscription]*natsSub
	link   context.Context // ends when the connection to a server breaks: answers would not find us
	cut    context.CancelFunc
}

var _ Bus = (*NATS)(nil)

// ConnectNATS returns a connected bus. It keeps trying until ctx ends.
func ConnectNATS(ctx context.Context, cfg NATSConfig) (*NATS, error) {
	b := &NATS{
		log:      cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		limits:   cfg.Limits.withDefaults(),
		arrivals: make(chan *nats.Msg, arrivals),
		done:     make(chan struct{}),
		subs:     make(map[*nats.Subscription]*natsSub),
	}
	b.link, b.cut = context.WithCancel(context.Background())
	b.stop = sync.OnceFunc(b.shutDown)
	connected := make(chan struct{}, 1)
	nc, err := nats.Connect(strings.Join(cfg.URLs, ","), append(b.options(cfg),
		nats.ConnectHandler(func(*nats.Conn) { connected <- struct{}{} }))...)
	if err != nil {
		b.cut()
		return nil, fmt.Errorf("bus: connect to nats: %w", err)
	}
	b.nc = nc
	select {
	case <-connected:
	case <-ctx.Done():
		nc.Close()
		b.cut()
		return nil, fmt.Errorf("bus: connect to nats: %w: %w", ctx.Err(), cmp.Or(nc.LastError(), ErrDisconnected))
	}
	b.running.Go(b.dispatch)
	return b, nil
}

func (b *NATS) options(cfg NATSConfig) []nats.Option {
	opts := []nats.Option{
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
	if cfg.Credentials != "" {
		opts = append(opts, nats.UserCredentials(cfg.Credentials))
	}
	if cfg.TLS != nil {
		opts = append(opts, nats.Secure(cfg.TLS))
	}
	return opts
}

// reconnectDelay grows and is random, so that all hubs do not come back in the same instant.
func reconnectDelay(rounds int) time.Duration {
	d := min(reconnectMin<<min(rounds, 10), reconnectMax)
	return d/2 + rand.N(d/2)
}

// disconnected fails the requests in flight; the library would let them wait for their deadline.
func (b *NATS) disconnected(_ *nats.Conn, err error) {
	b.log.Warn("bus: nats connection lost", "error", err)
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
	b.log.Warn("bus: nats error", "error", err)
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
				s.push(b.message(m))
			}
		case <-b.done:
			return
		}
	}
}

func (b *NATS) message(m *nats.Msg) Msg {
	msg := Msg{Subject: m.Subject, Data: m.Data}
	if m.Reply != "" {
		msg.Respond = func(data []byte) error { return b.publish(m.Reply, data) }
	}
	return msg
}

// Publish implements Bus.
func (b *NATS) Publish(subject string, data []byte) error {
	if err := checkSubject(subject, false); err != nil {
		return err
	}
	return b.publish(subject, data)
}

func (b *NATS) publish(subject string, data []byte) error {
	if err := checkSize(data, b.MaxPayload()); err != nil {
		return err
	}
	return b.wrap(b.nc.Publish(subject, data))
}

// Subscribe implements Bus.
func (b *NATS) Subscribe(subject string, fn func(Msg)) (Subscription, error) {
	return b.subscribe(subject, fn, false, func() (*nats.Subscription, error) {
		return b.nc.ChanSubscribe(subject, b.arrivals)
	})
}

// QueueSubscribe implements Bus.
func (b *NATS) QueueSubscribe(subject, queue string, fn func(Msg)) (Subscription, error) {
	return b.queueSubscribe(subject, queue, fn, false)
}

func (b *NATS) queueSubscribe(subject, queue string, fn func(Msg), light bool) (Subscription, error) {
	if err := checkQueue(queue); err != nil {
		return nil, err
	}
	return b.subscribe(subject, fn, light, func() (*nats.Subscription, error) {
		return b.nc.ChanQueueSubscribe(subject, queue, b.arrivals)
	})
}

func (b *NATS) subscribe(subject string, fn func(Msg), light bool, open func() (*nats.Subscription, error)) (Subscription, error) {
	if err := checkSubject(subject, true); err != nil {
		return nil, err
	}
	box := newMailbox(fn, b.limits, &b.running)
	box.light = light
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
	sub, err := open()
	if err != nil {
		return nil, b.wrap(err)
	}
	s := &natsSub{mailbox: box, bus: b, sub: sub}
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
	linked, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.currentLink(), cancel)()
	m, err := b.nc.RequestWithContext(linked, subject, data)
	switch {
	case err == nil:
		return m.Data, nil
	case errors.Is(err, context.Canceled) && ctx.Err() == nil:
		return nil, cmp.Or(b.Healthy(), ErrDisconnected) // the link broke, and may be back already
	}
	return nil, b.wrap(err)
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
		return fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	return fmt.Errorf("bus: %w", err)
}

// MaxPayload implements Bus; it is the limit of the server this hub is connected to.
func (b *NATS) MaxPayload() int {
	if n := b.nc.MaxPayload(); n > 0 {
		return int(n)
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
	b.mu.Lock()
	b.cut()
	b.mu.Unlock()
}

// natsSub is one subscription on a NATS bus.
type natsSub struct {
	*mailbox
	bus *NATS
	sub *nats.Subscription
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
