//go:build unix

package wsconn_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd runs this test binary again as n idle clients.
func crowd(b *testing.B, addr string, n int) (stop func()) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrowd$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "WSCONN_CROWD="+addr, "WSCONN_CROWD_SIZE="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return func() { _ = stdin.Close(); _ = cmd.Wait() }
}

// TestCrowd is the other process of BenchmarkIdle; by itself it has nothing to do.
func TestCrowd(t *testing.T) {
	addr := os.Getenv("WSCONN_CROWD")
	if addr == "" {
		return
	}
	n, _ := strconv.Atoi(os.Getenv("WSCONN_CROWD_SIZE"))
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
		if _, err := fmt.Fprint(c, handshake); err != nil {
			t.Fatal(err)
		}
		br := bufio.NewReader(c)
		if _, err := http.ReadResponse(br, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(text(smallJSON)); err != nil {
			t.Fatal(err)
		}
		go func() { // answer heartbeats
			for {
				op, _, err := readServerFrame(br)
				if err != nil {
					return
				}
				if op == 9 {
					_, _ = c.Write(frame(true, 10, ""))
				}
			}
		}()
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the benchmark ends
}
