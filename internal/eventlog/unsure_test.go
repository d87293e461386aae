package eventlog_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"

	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/pgtest"
)

// commitCutter stands between a store and PostgreSQL and, once armed, cuts the line of the
// next commit: before the server hears of it, or after, when only its answer is lost.
type commitCutter struct {
	l      net.Listener
	target string
	mu     sync.Mutex
	armed  string
	lines  sync.WaitGroup
}

func newCommitCutter(t *testing.T, target string) *commitCutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &commitCutter{l: l, target: target}
	c.lines.Go(func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			c.lines.Go(func() { c.carry(a) })
		}
	})
	return c
}

func (c *commitCutter) arm(when string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = when
}

// fires tells what to do about a commit that passes.
func (c *commitCutter) fires(data []byte) (when string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed == "" || !bytes.Contains(data, []byte("commit\x00")) {
		return ""
	}
	when, c.armed = c.armed, ""
	return when
}

func (c *commitCutter) carry(a net.Conn) {
	defer a.Close()
	b, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer b.Close()
	silent := make(chan struct{}) // closed: what the server says is lost
	answered := make(chan struct{})
	c.lines.Go(func() {
		defer close(answered)
		buf := make([]byte, 1<<16)
		for {
			n, err := b.Read(buf)
			select {
			case <-silent:
				return
			default:
			}
			if _, failed := a.Write(buf[:n]); err != nil || failed != nil {
				_ = a.Close()
				return
			}
		}
	})
	buf := make([]byte, 1<<16)
	for {
		n, err := a.Read(buf)
		if err != nil {
			return
		}
		when := c.fires(buf[:n])
		if when == "before" {
			return
		}
		if when == "after" {
			close(silent)
		}
		if _, err := b.Write(buf[:n]); err != nil {
			return
		}
		if when == "after" {
			<-answered
			return
		}
	}
}

// The server went away while it committed: nobody knew whether the events were written, and
// the task that wrote them was given up.
func TestACommitWhoseAnswerWasLostIsLookedFor(t *testing.T) {
	target, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	cutter := newCommitCutter(t, target.Host)
	target.Host = cutter.l.Addr().String()
	db := storetest.Open(t, target.String())
	wire := bus.NewLocal()
	defer wire.Close()
	log := eventlog.New(db, wire, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		_ = db.Close()
		_ = cutter.l.Close()
		cutter.lines.Wait()
	})
	for i, when := range []string{"", "before", "after", "before", "after", ""} {
		cutter.arm(when)
		first, err := log.Append(t.Context(), nil, "s", eventlog.Event{Kind: "k", Data: []byte(when)})
		if err != nil || first != int64(i+1) {
			t.Fatalf("event %d, with the line cut %s the commit: number %d, %v", i+1, when, first, err)
		}
	}
	// The same for a transaction that does other things besides.
	for i, when := range []string{"before", "after"} {
		var added eventlog.Appended
		fill := func(tx *store.Tx) (err error) {
			added, err = log.AppendTx(tx, nil, "s", eventlog.Event{Kind: "k", Data: []byte(when)})
			return err
		}
		cutter.arm(when)
		err := db.Write(t.Context(), fill)
		if !errors.Is(err, store.ErrUnsure) || !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("with the line cut %s the commit: %v, want the store to be unsure", when, err)
		}
		if err := log.Resolve(t.Context(), err, added, fill); err != nil || added.First() != int64(7+i) {
			t.Fatalf("with the line cut %s the commit: number %d, %v", when, added.First(), err)
		}
	}
	list, err := log.Read(t.Context(), "s", 0, 100)
	if err != nil || len(list) != 8 {
		t.Fatalf("%d events, %v; want each once", len(list), err)
	}
}
