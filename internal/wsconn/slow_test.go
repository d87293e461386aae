package wsconn_test

import (
	"bufio"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/wsconn"
)

// stalled is a connection whose peer takes one frame and then nothing until it is asked to.
func stalled(t testing.TB, o wsconn.Options) (*wsconn.Group, *wsconn.Conn, *peer, *script) {
	g := wsconn.NewGroup(o)
	h := &script{closed: make(chan wsconn.Ended, 1)}
	c, p := pipeConn(t, g, h)
	if err := c.SendText([]byte("first")); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return g, c, p, h
}

func join2(a, b []byte) ([]byte, bool) { return []byte(string(a) + string(b)), true }

func TestPoliciesWhileThePeerIsSlow(t *testing.T) {
	must := func(s string) wsconn.Message { return wsconn.Message{Kind: wsconn.Text, Data: []byte(s)} }
	newest := func(k, s string) wsconn.Message {
		return wsconn.Message{Kind: wsconn.Text, Data: []byte(s), Policy: wsconn.Newest, Key: k}
	}
	merge := func(k, s string) wsconn.Message {
		return wsconn.Message{Kind: wsconn.Text, Data: []byte(s), Policy: wsconn.Merge, Key: k, Join: join2}
	}
	drop := func(s string) wsconn.Message {
		return wsconn.Message{Kind: wsconn.Text, Data: []byte(s), Policy: wsconn.Droppable}
	}
	barrier := func(k, s string) wsconn.Message { return wsconn.Message{Kind: wsconn.Text, Data: []byte(s), Key: k} }
	for _, c := range []struct {
		name string
		send []wsconn.Message
		want string
	}{
		{"must deliver keeps order", []wsconn.Message{must("a"), must("b"), must("c")}, "a b c"},
		{"newest replaces, at the end", []wsconn.Message{newest("r", "1"), must("a"), newest("r", "2"), newest("s", "3"), newest("r", "4")}, "a 3 4"},
		{"neighbours merge", []wsconn.Message{merge("t", "a"), merge("t", "b"), merge("t", "c")}, "abc"},
		{"other keys between do not matter", []wsconn.Message{merge("t", "a"), merge("u", "x"), merge("t", "b"), merge("u", "y")}, "ab xy"},
		{"a must-deliver of the key ends the run", []wsconn.Message{merge("t", "a"), barrier("t", "!"), merge("t", "b"), merge("t", "c")}, "a ! bc"},
		{"the oldest droppable goes first", []wsconn.Message{drop("1"), must("a"), drop("2"), must("b"), drop("3"), drop("4")}, "a 2 b 3 4"},
		{"droppable makes room for must", []wsconn.Message{drop("1"), drop("2"), must("a"), must("b"), must("c"), must("d"), must("e")}, "a b c d e"},
		{"a full queue drops a droppable at once", []wsconn.Message{must("a"), must("b"), must("c"), must("d"), must("e"), drop("1")}, "a b c d e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, conn, p, _ := stalled(t, wsconn.Options{Queue: wsconn.QueueLimit{Frames: 5}})
				defer g.Close()
				for _, m := range c.send {
					if err := conn.Send(m); err != nil {
						t.Fatal(err)
					}
				}
				if err := conn.Close(1000, ""); err != nil {
					t.Fatal(err)
				}
				var got []string
				for f := p.readFrame(); !strings.HasPrefix(f, "8:"); f = p.readFrame() {
					got = append(got, strings.TrimPrefix(f, "1:"))
				}
				if diff := cmp.Diff("first "+c.want, strings.Join(got, " ")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestAnOverflowCutsWithCodeAndLastWords(t *testing.T) {
	for name, limit := range map[string]wsconn.QueueLimit{"frames": {Frames: 4}, "bytes": {Bytes: 200}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, c, p, h := stalled(t, wsconn.Options{
					Queue: limit, Overflow: wsconn.Close{Code: 4013, Reason: "slow consumer"},
					LastWords: func(wsconn.Close) []byte { return []byte("rate_limited") },
				})
				defer g.Close()
				var err error
				n := 0
				for ; err == nil; n++ {
					err = c.SendText([]byte("twenty bytes of text"))
				}
				if !errors.Is(err, wsconn.ErrOverflow) || n > 10 {
					t.Fatalf("message %d returned %v", n, err)
				}
				p.want("1:first", "1:rate_limited", "8:4013 slow consumer")
				_ = p.Close()
				if how := <-h.closed; how.Code != 4013 {
					t.Errorf("handler was told %+v", how)
				}
			})
		})
	}
}

func TestOneMessageLargerThanTheQueueIsAcceptedWhenItIsEmpty(t *testing.T) {
	s := serve(t, wsconn.Options{Queue: wsconn.QueueLimit{Bytes: 1000}}, script{})
	c := s.dial()
	if err := s.conn().SendText([]byte(strings.Repeat("x", 100_000))); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, c); len(got) != 100_000 {
		t.Fatalf("got %d bytes", len(got))
	}
}

// Whatever is sent to a stalled connection, what waits stays within bounds, must-deliver messages and merged
// text come out complete and in order, and the newest of each key survives.
func TestQueueProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			const frames, bytes = 12, 2000
			g, c, p, _ := stalled(t, wsconn.Options{Queue: wsconn.QueueLimit{Frames: frames, Bytes: bytes}})
			defer g.Close()
			var must, merged [2]string
			var newest [2]string
			over := false
			for i := range rapid.IntRange(0, 60).Draw(rt, "messages") {
				k := rapid.IntRange(0, 1).Draw(rt, "key")
				policy := wsconn.Policy(rapid.IntRange(0, 3).Draw(rt, "policy"))
				data := fmt.Sprintf("%d.", i)
				m := wsconn.Message{Kind: wsconn.Text, Policy: policy, Data: fmt.Appendf(nil, "%d%d:%s", policy, k, data)}
				switch policy {
				case wsconn.Newest:
					m.Key = fmt.Sprint("newest", k)
				case wsconn.Merge:
					m.Key = fmt.Sprint("merge", k)
					m.Join = func(a, b []byte) ([]byte, bool) { return append(append([]byte{}, a...), b[3:]...), true }
				}
				err := c.Send(m)
				if f, b := c.Queued(); f > frames || b > bytes {
					rt.Fatalf("%d frames, %d bytes wait", f, b)
				}
				if over = errors.Is(err, wsconn.ErrOverflow); over {
					break
				}
				switch policy {
				case wsconn.MustDeliver:
					must[k] += data
				case wsconn.Merge:
					merged[k] += data
				case wsconn.Newest:
					newest[k] = data
				}
			}
			_ = c.Close(1000, "")
			var gotMust, gotMerged, gotNewest [2]string
			for f := p.readFrame(); !strings.HasPrefix(f, "8:"); f = p.readFrame() {
				body := strings.TrimPrefix(f, "1:")
				if body == "first" {
					continue
				}
				k := body[1] - '0'
				switch data := body[3:]; body[0] {
				case '0':
					gotMust[k] += data
				case '1':
					gotNewest[k] = data
				case '2':
					gotMerged[k] += data
				}
			}
			if !over && (gotMust != must || gotMerged != merged || gotNewest != newest) {
				rt.Fatalf("must %v of %v, merged %v of %v, newest %v of %v", gotMust, must, gotMerged, merged, gotNewest, newest)
			}
		})
	})
}

// One peer among a thousand stops reading. All others get everything; it is cut, or kept with bounded memory.
func TestOneStuckReaderAmongAThousand(t *testing.T) {
	const peers, messages, size = 1000, 20, 4 << 10
	limit := wsconn.QueueLimit{Frames: 256, Bytes: 512 << 10}
	for _, c := range []struct {
		name   string
		policy wsconn.Policy
		key    string
		cut    bool
	}{
		{"is cut when it must have everything", wsconn.MustDeliver, "", true},
		{"is kept with bounded memory when the newest is enough", wsconn.Newest, "k", false},
		{"is kept with bounded memory when old ones may be dropped", wsconn.Droppable, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, wsconn.Options{Queue: limit, Overflow: wsconn.Close{Code: 4408, Reason: "slow"}}, script{})
			stuckPeer := s.rawDial()
			defer stuckPeer.Close()
			stuck := s.conn()
			fillSocket(t, stuck)

			conns := []*wsconn.Conn{stuck}
			var readers sync.WaitGroup
			step := make(chan struct{}, peers)
			for range peers - 1 {
				p := s.rawDial()
				conns = append(conns, s.conn())
				readers.Go(func() { countFrames(t, p.br, messages, size, step) })
			}
			for range messages {
				f := wsconn.Prepare(wsconn.Text, []byte(strings.Repeat("x", size)))
				for _, conn := range conns {
					if err := conn.Send(wsconn.Message{Frame: f, Policy: c.policy, Key: c.key}); err != nil {
						t.Fatal(err)
					}
				}
				for range peers - 1 {
					receive(t, step, "delivery")
				}
			}
			readers.Wait()

			refused := 0
			for i := 0; i < 20_000 && refused < 10; i++ { // the stuck one goes on being sent to, far beyond any socket buffer
				f := wsconn.Prepare(wsconn.Text, []byte(strings.Repeat("x", size)))
				if stuck.Send(wsconn.Message{Frame: f, Policy: c.policy, Key: c.key}) != nil {
					refused++
				}
				if n, b := stuck.Queued(); n > limit.Frames || b > limit.Bytes {
					t.Fatalf("%d frames, %d bytes wait", n, b)
				}
			}
			if !c.cut {
				if refused > 0 || len(s.ended) > 0 {
					t.Errorf("%d messages refused, %d connections ended", refused, len(s.ended))
				}
				return
			}
			if how := receive(t, s.ended, "end of the stuck one"); how.Code != 4408 || refused == 0 {
				t.Errorf("handler was told %+v, %d refused", how, refused)
			}
			if n, b := stuck.Queued(); n != 0 || b != 0 {
				t.Errorf("%d frames, %d bytes still wait", n, b)
			}
		})
	}
}

// fillSocket sends until the system takes no more and a queue stays.
func fillSocket(t *testing.T, c *wsconn.Conn) {
	t.Helper()
	f := wsconn.Prepare(wsconn.Text, []byte(strings.Repeat("f", 32<<10)))
	for {
		_, before := c.Queued()
		if before > 256<<10 {
			runtime.Gosched()
			if _, after := c.Queued(); after == before {
				return
			}
			continue
		}
		if err := c.Send(wsconn.Message{Frame: f, Policy: wsconn.Droppable}); err != nil {
			t.Fatal(err)
		}
	}
}

func countFrames(t *testing.T, r *bufio.Reader, n, size int, step chan<- struct{}) {
	for range n {
		if _, data, err := readServerFrame(r); err != nil || len(data) != size {
			t.Errorf("got %d bytes, %v", len(data), err)
			return
		}
		step <- struct{}{}
	}
}

// A room's roster and grants may be larger than the whole queue; only one of each
// waits, so a reader is not cut for them.
func TestALargeNewestMessageDoesNotCutItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, conn, _, _ := stalled(t, wsconn.Options{Queue: wsconn.QueueLimit{Frames: 9, Bytes: 1 << 10}})
		defer g.Close()
		for range 3 {
			for _, key := range []string{"roster", "caps"} {
				if err := conn.Send(wsconn.Message{Kind: wsconn.Text, Data: make([]byte, 4<<10), Policy: wsconn.Newest, Key: key}); err != nil {
					t.Fatal(err)
				}
			}
			if err := conn.SendText([]byte("said")); err != nil {
				t.Fatal(err)
			}
		}
		if n, _ := conn.Queued(); n != 5 {
			t.Errorf("%d messages wait", n)
		}
	})
}
