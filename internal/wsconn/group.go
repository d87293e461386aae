package wsconn

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lxzan/gws"
)

// Group is the connections of one face and what they share.
type Group struct {
	options  Options
	upgrader *gws.Upgrader
	events   events
	wheel    wheel
	start    time.Time
	stop     func() // once
	running  sync.WaitGroup

	mu      sync.Mutex
	conns   map[*Conn]struct{}
	arrived int           // handshakes in progress
	drain   *Close        // set once draining
	aborted bool          // draining has become hanging up
	empty   chan struct{} // closed when draining and the last connection is gone
}

// NewGroup starts a group; Close or Drain ends it.
func NewGroup(options Options) *Group {
	g := &Group{options: options.withDefaults(), start: time.Now(), conns: make(map[*Conn]struct{}), empty: make(chan struct{})}
	g.upgrader = newUpgrader(&g.options)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		g.wheel.run(g.now, stop)
		close(stopped)
	}()
	g.stop = sync.OnceFunc(func() { close(stop); <-stopped })
	return g
}

// now is the group's clock: nanoseconds since its start, at least one.
func (g *Group) now() int64 { return int64(time.Since(g.start)) + 1 }

// Len is the number of open connections.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

// Metrics are the counters given in Options, or the group's own.
func (g *Group) Metrics() *Metrics { return g.options.Metrics }

// admit counts a handshake in progress; add or forget ends it.
func (g *Group) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drain != nil {
		return ErrDraining
	}
	g.arrived++
	g.running.Add(1)
	return nil
}

// forget is for a handshake that failed.
func (g *Group) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arrived--
	g.checkEmpty()
	g.running.Done()
}

// add makes an admitted connection a member, of a group that may have begun to drain meanwhile.
func (g *Group) add(c *Conn) {
	g.mu.Lock()
	g.arrived--
	g.conns[c] = struct{}{}
	drain, aborted := g.drain, g.aborted
	g.mu.Unlock()
	g.options.Metrics.Opened.Add(1)
	switch {
	case aborted:
		c.Abort()
	case drain != nil:
		c.closeOwn(*drain)
	}
}

func (g *Group) remove(c *Conn) {
	g.wheel.remove(c)
	g.options.Metrics.Closed.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	g.checkEmpty()
}

func (g *Group) checkEmpty() {
	if g.drain != nil && len(g.conns)+g.arrived == 0 {
		select {
		case <-g.empty:
		default:
			close(g.empty)
		}
	}
}

// Drain takes no more connections, closes all with code and reason, and waits until they are gone and every
// handler has returned. When ctx ends first the rest is hung up, and ctx's error returned.
func (g *Group) Drain(ctx context.Context, code Code, reason string) error {
	return g.DrainOver(ctx, 0, code, reason)
}

// DrainOver is Drain with the closes spread over a while, so that the peers do not all come back at once.
func (g *Group) DrainOver(ctx context.Context, spread time.Duration, code Code, reason string) error {
	why, err := checked(Close{code, reason})
	if err != nil {
		return err
	}
	g.closeAll(ctx, g.beginDrain(why, false), spread, why)
	select {
	case <-g.empty:
	case <-ctx.Done():
		err = ctx.Err()
		for _, c := range g.beginDrain(why, true) {
			c.Abort()
		}
		<-g.empty
	}
	g.stop()
	g.running.Wait()
	return err
}

// Close hangs up on everyone and waits until it is done.
func (g *Group) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = g.Drain(ctx, CodeGoingAway, "") // says only that ctx has ended
}

// beginDrain returns the members; those still to come learn of it in add.
func (g *Group) beginDrain(why Close, abort bool) []*Conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drain == nil {
		g.drain = &why
	}
	g.aborted = g.aborted || abort
	g.checkEmpty()
	return slices.Collect(maps.Keys(g.conns))
}

// closeAll closes in steps of one tick.
func (g *Group) closeAll(ctx context.Context, conns []*Conn, spread time.Duration, why Close) {
	steps := max(1, int(spread/time.Duration(tick)))
	ticker := time.NewTicker(time.Duration(tick))
	defer ticker.Stop()
	for i := range steps {
		for _, c := range conns[i*len(conns)/steps : (i+1)*len(conns)/steps] {
			c.closeOwn(why)
		}
		if i == steps-1 {
			return
		}
		select {
		case <-ticker.C:
		case <-g.empty:
			return
		case <-ctx.Done():
			return
		}
	}
}
