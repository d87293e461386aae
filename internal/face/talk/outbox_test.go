package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley.internal/internal/trywrite"
	wire "parley.internal/protocol/agentfirst"
)

// takes is a socket that takes so many bytes at a time.
type takes struct {
	to   net.Conn
	some func() int
}

func (s *takes) Write(b []byte) (int, error) { return s.to.Write(b[:min(len(b), s.some())]) }

// tcpPair is a connection with both ends.
func tcpPair(t interface {
	Helper()
	Fatal(...any)
},
) (hub, client net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// Whatever the socket takes of what is written at once, the reader gets every
// message whole and in order.
func TestWhatIsWrittenAtOnceKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hub, client := tcpPair(t)
		defer client.Close()
		sizes := rapid.SliceOfN(rapid.IntRange(0, 9), 8, 8).Draw(t, "taken")
		turn := 0
		o := newOutbox(1<<20, &takes{to: hub, some: func() int { turn++; return sizes[turn%len(sizes)] * 40 }})
		var writing sync.WaitGroup
		writing.Go(func() {
			if err := o.write(hub, time.Minute); err != nil {
				t.Errorf("writing: %v", err)
			}
			hub.Close()
		})
		n := rapid.IntRange(1, 40).Draw(t, "messages")
		want := make([][]byte, n)
		for i := range want {
			want[i] = bytes.Repeat(fmt.Appendf(nil, "%d,", i), rapid.SampledFrom([]int{1, 50, 900, 3000}).Draw(t, "length"))
			if err := o.put(item{payload: want[i]}); err != nil {
				t.Fatal(err)
			}
		}
		o.finish(false)
		frames := wire.NewFrameReader(client)
		for i := range want {
			got, err := frames.Next()
			if err != nil || !bytes.Equal(got, want[i]) {
				t.Fatalf("message %d: %.40q, %v; want %.40q", i, got, err, want[i])
			}
		}
		if _, err := frames.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("behind the last: %v", err)
		}
		writing.Wait()
		if left := o.queued(); left != 0 {
			t.Fatalf("%d bytes still wait", left)
		}
	})
}

// A socket takes what it has room for and says so at once.
func TestASocketThatIsFullDoesNotHoldUp(t *testing.T) {
	hub, client := tcpPair(t)
	defer hub.Close()
	defer client.Close()
	s := trywrite.Of(hub)
	if s == nil {
		t.Skip("this system has no sockets that are files")
	}
	block := make([]byte, 1<<20)
	for n := len(block); n == len(block); {
		var err error
		if n, err = s.Write(block); err != nil {
			t.Fatal(err)
		}
	}
}
