package wsconn_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/internal/wsconn"
)

const smallJSON = `{"type":"ping","id":"0198c0de-0000-7000-8000-000000000000","payload":{}}`

// rawServer runs handle for every TCP connection.
func rawServer(b testing.TB, handle func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() { handle(c) })
		}
	})
	b.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

func rawDials(b testing.TB, addr string, n int) []net.Conn {
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		conns[i] = c
	}
	return conns
}

func (s *site) wsDials(n int) ([]net.Conn, []*wsconn.Conn) {
	clients, conns := make([]net.Conn, n), make([]*wsconn.Conn, n)
	for i := range clients {
		p := s.rawDial()
		_ = p.SetReadDeadline(time.Time{})
		clients[i], conns[i] = p.Conn, s.conn()
	}
	return clients, conns
}

// BenchmarkEcho sends a small JSON request and waits for the same answer, on 1,000 connections at once. Clients do the
// same work in both halves, which alternate in one run: the ratio is wsconn's rate over raw TCP's.
func BenchmarkEcho(b *testing.B) {
	const conns = 1000
	raw := rawDials(b, rawServer(b, func(c net.Conn) {
		buf := make([]byte, 1024)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if _, err := c.Write(buf[:n]); err != nil {
				return
			}
		}
	}), conns)
	s := serve(b, wsconn.Options{}, script{message: echo})
	ws, _ := s.wsDials(conns)
	request := text(smallJSON)
	compare(b,
		func(n int) { exchange(b, raw, request, len(request), n) },
		func(n int) { exchange(b, ws, request, len(request)-4, n) })
}

// compare alternates the two halves in slices and reports how the second does against the first, in time and in
// CPU time of the whole process (clients included in both).
func compare(b *testing.B, limit, ours func(n int)) {
	const slices = 10
	var spent, cpu [2]time.Duration
	b.ResetTimer()
	for range slices {
		n := max(1, b.N/slices)
		for i, f := range []func(int){limit, ours} {
			start, c := time.Now(), cpuTime()
			f(n)
			spent[i] += time.Since(start)
			cpu[i] += cpuTime() - c
		}
	}
	b.StopTimer()
	n := float64(max(1, b.N/slices) * slices)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(spent[0])/n, "raw-ns/op")
	b.ReportMetric(float64(spent[1])/n, "ws-ns/op")
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "ratio")
	b.ReportMetric(float64(cpu[0])/float64(max(1, cpu[1])), "cpu-ratio")
}

// exchange does n requests in all, each connection one at a time.
func exchange(b *testing.B, conns []net.Conn, request []byte, answer, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			buf := make([]byte, answer)
			for left.Add(-1) >= 0 {
				if _, err := c.Write(request); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkFanOut sends 1 KiB to every connection; one op is one delivery. Four sockets a member must fit into the
// usual limit of open files.
func BenchmarkFanOut(b *testing.B) {
	for _, members := range []int{500, 4000} {
		for _, inFlight := range []int{1, 4} {
			b.Run(fmt.Sprintf("members=%d/ahead=%d", members, inFlight), func(b *testing.B) { fanOut(b, members, inFlight) })
		}
	}
}

// fanOut lets inFlight rounds run ahead of the slowest reader, as messages of a busy room do; with one, nothing
// can be gathered into one write.
func fanOut(b *testing.B, members, inFlight int) {
	payload := []byte(strings.Repeat("x", 1024))
	accepted := make(chan net.Conn, members)
	raw := rawDials(b, rawServer(b, func(c net.Conn) { accepted <- c }), members)
	servers := make([]net.Conn, members)
	for i := range servers {
		servers[i] = <-accepted
	}
	s := serve(b, wsconn.Options{Queue: wsconn.QueueLimit{Frames: 1 << 20, Bytes: 1 << 30}}, script{})
	ws, conns := s.wsDials(members)
	wire := wsconn.Prepare(wsconn.Text, payload).Size()
	message := make([]byte, wire)
	compare(b,
		func(n int) {
			pump(b, raw, wire, n, inFlight, func() {
				for _, c := range servers {
					if _, err := c.Write(message); err != nil {
						b.Error(err)
					}
				}
			})
		},
		func(n int) {
			pump(b, ws, wire, n, inFlight, func() {
				f := wsconn.Prepare(wsconn.Text, payload)
				for _, c := range conns {
					if err := c.SendFrame(f); err != nil {
						b.Error(err)
					}
				}
			})
		})
}

// pump has round called until n deliveries of size bytes are done, with at most inFlight rounds ahead of the slowest.
func pump(b *testing.B, clients []net.Conn, size, n, inFlight int, round func()) {
	rounds := (n + len(clients) - 1) / len(clients)
	slots := make(chan struct{}, inFlight)
	counts := make([]atomic.Int64, rounds)
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			buf := make([]byte, size)
			for i := range rounds {
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Error(err)
					return
				}
				if counts[i].Add(1) == int64(len(clients)) {
					<-slots
				}
			}
		})
	}
	for range rounds {
		slots <- struct{}{}
		round()
	}
	wg.Wait()
}

// BenchmarkIdle measures what one idle connection that was used once costs this process: the clients are another
// process, so that only our side counts.
func BenchmarkIdle(b *testing.B) {
	const conns = 5000
	s := serve(b, wsconn.Options{
		Ping: wsconn.Heartbeat{Every: time.Second}, Silence: wsconn.Silence{After: time.Minute},
	}, script{message: echo})
	warm, _ := s.wsDials(100)
	exchange(b, warm, text(smallJSON), len(text(smallJSON))-4, 100)
	rss, heap, stacks := memory()
	stop := crowd(b, s.addr, conns)
	defer stop()
	for range conns {
		s.conn()
	}
	for s.Metrics().MessagesIn.Load() < conns+100 {
		<-time.After(time.Millisecond)
	}
	<-time.After(2 * time.Second) // a few heartbeats
	rss2, heap2, stacks2 := memory()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(rss2-rss)/1024/conns, "RSS-KiB/conn")
	b.ReportMetric(float64(heap2-heap)/1024/conns, "heap-KiB/conn")
	b.ReportMetric(float64(stacks2-stacks)/1024/conns, "stack-KiB/conn")
}

func memory() (rss, heap, stacks int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, int64(m.HeapAlloc), int64(m.StackInuse)
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kb int64
			_, _ = fmt.Sscan(v, &kb)
			rss = kb << 10
		}
	}
	return rss, int64(m.HeapAlloc), int64(m.StackInuse)
}
