package talk

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/resource"
	"parley.internal/internal/defaults"
	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/talk"
	"parley.internal/internal/wsconn"
	wire "parley.internal/protocol/agentfirst"
)

// Deps is what the face is made from.
type Deps struct {
	Talk   talk.API
	Agents *brain.Library
	Models *brain.Catalogue
	Shelf  *resource.Shelf
	People *identity.Directory
	Front  *front.Front
	// Hub is what the hub calls itself in its answer to hello.
	Hub    string
	Log    *slog.Logger
	Limits Limits
}

// Limits bound what clients may do; the zero value has the usual ones.
type Limits struct {
	Connections int           // per listener (10 000)
	InProgress  int           // requests of one connection (64); then reading pauses
	Attachments int           // of one connection (64)
	Login       time.Duration // to say who one is (10 s)
	Frame       time.Duration // for one frame, from its first byte (60 s)
	Write       time.Duration // a peer may take nothing at all for this long (30 s)
	SendWait    time.Duration // a plain send waits so long for a person's yes before it is answered that it waits (30 s)
	Unsent      int           // bytes that may wait for one connection (8 MiB)
	Unknown     int           // largest frame of a client that has not said who it is (256 KiB)
	Import      int64         // bytes of one import (512 MiB)
	Strangers   int           // WebSockets of one network that have not said who they are (32)
}

func (l Limits) withDefaults() Limits {
	defaults.Set(&l.Connections, 10_000)
	defaults.Set(&l.InProgress, 64)
	defaults.Set(&l.Attachments, 64)
	defaults.Set(&l.Login, 10*time.Second)
	defaults.Set(&l.Frame, time.Minute)
	defaults.Set(&l.Write, 30*time.Second)
	defaults.Set(&l.SendWait, 30*time.Second)
	defaults.Set(&l.Unsent, 8<<20)
	defaults.Set(&l.Unknown, 256<<10)
	defaults.Set(&l.Import, 512<<20)
	defaults.Set(&l.Strangers, 32)
	return l
}

// Face serves the conversations protocol.
type Face struct {
	d        Deps
	log      *slog.Logger
	limits   Limits
	attempts *limit.Guesses
	group    *wsconn.Group
	sockets  front.Sockets

	mu        sync.Mutex
	closing   bool
	busy      int           // requests in progress
	quiet     chan struct{} // closed when closing and nothing is in progress
	listeners []net.Listener
	streams   map[*stream]struct{}
	work      sync.WaitGroup
}

// New makes a face. It listens nowhere until told to; Close ends it.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	f := &Face{
		d: d, log: d.Log, limits: d.Limits.withDefaults(), attempts: limit.NewGuesses(identity.LoginLimits),
		quiet: make(chan struct{}), streams: map[*stream]struct{}{},
	}
	f.group = wsconn.NewGroup(wsconn.Options{
		Read:           wsconn.ReadLimit{Message: wire.MaxPayload},
		MessageTimeout: f.limits.Frame, WriteTimeout: f.limits.Write, RefuseText: true,
		// The face itself cuts at Limits.Unsent, before it adds to what waits, so that
		// one large answer is no reason to.
		Queue: wsconn.QueueLimit{Frames: 1 << 16, Bytes: f.limits.Unsent + wire.MaxPayload + 1<<20},
		Ping:  wsconn.Heartbeat{Every: 30 * time.Second, WhenSilent: true}, Silence: wsconn.Silence{After: 100 * time.Second},
		Log: d.Log,
	})
	f.sockets = front.Sockets{Group: f.group, Open: limit.NewCrowd(limit.Share{Total: f.limits.Connections}), TooMany: f.tooMany, Log: d.Log}
	return f
}

// begin counts a request; false when the hub is stopping.
func (f *Face) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return false
	}
	f.busy++
	return true
}

func (f *Face) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy--
	if f.closing && f.busy == 0 {
		close(f.quiet)
	}
}

// Close takes no new connections and requests, lets those in progress finish
// until ctx ends, and closes what is left.
func (f *Face) Close(ctx context.Context) error {
	f.mu.Lock()
	already := f.closing
	f.closing = true
	if !already && f.busy == 0 {
		close(f.quiet)
	}
	listeners := f.listeners
	f.listeners = nil
	f.mu.Unlock()
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	select {
	case <-f.quiet:
	case <-ctx.Done():
	}
	for _, s := range f.open() {
		s.close(wsconn.CodeRestart, stopping)
	}
	if err := f.group.Drain(ctx, wsconn.CodeRestart, stopping); err != nil {
		errs = append(errs, err)
	}
	f.group.Close()
	errs = append(errs, f.wait(ctx))
	return errors.Join(errs...)
}

const stopping = "the hub is stopping"

func (f *Face) open() []*stream {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*stream
	for s := range f.streams {
		all = append(all, s)
	}
	return all
}

// wait is for every goroutine of the face; when ctx ends it hangs up on the rest.
func (f *Face) wait(ctx context.Context) error {
	gone := make(chan struct{})
	go func() {
		f.work.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	for _, s := range f.open() {
		s.abort()
	}
	<-gone
	return context.Cause(ctx)
}
