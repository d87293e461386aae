package faults_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/test/hubtest"
)

func dial(t *testing.T, h *hubtest.Hub) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// cut waits until the hub has ended the connection, and returns what it said.
func cut(c net.Conn) (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(hubtest.Patience))
	said, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return string(said), errors.New("the hub kept the connection")
	}
	return string(said), nil
}

// dribble sends byte by byte until the connection is gone.
func dribble(c net.Conn, text string) {
	for i := range len(text) {
		if _, err := c.Write([]byte{text[i]}); err != nil {
			return
		}
		<-time.After(200 * time.Millisecond)
	}
}

func TestSlowAndSilentClientsAreCutAndHarmNobody(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{})
	var senders sync.WaitGroup
	defer senders.Wait()
	slow, body := dial(t, h), dial(t, h)
	senders.Go(func() { dribble(slow, "GET /api/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+strings.Repeat("y", 1000)) })
	fmt.Fprintf(body, "POST /api/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", h.Owner)
	senders.Go(func() { dribble(body, strings.Repeat(" ", 999)) })
	silent := make([]net.Conn, 1000)
	for i := range silent {
		silent[i] = dial(t, h)
	}
	for range 50 {
		if a := h.Do("POST", "/api/tokens", newToken); a.Status != 200 {
			t.Fatalf("meanwhile: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	for name, c := range map[string]net.Conn{"headers byte by byte": slow, "a body byte by byte": body} {
		if said, err := cut(c); err != nil || strings.Contains(said, " 200 ") {
			t.Errorf("%s: %q, %v; want no error, not \" 200 \" in it", name, said, err)
		}
	}
	for _, c := range silent {
		if _, err := cut(c); err != nil {
			t.Fatalf("a silent connection: %v", err)
		}
	}
}

func TestAFloodDoesNotStarveTheHealthCheck(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Config{})
	var flood sync.WaitGroup
	var over atomic.Bool
	var answered atomic.Int64
	for i := range 48 {
		flood.Go(func() {
			for !over.Load() {
				var a hubtest.Answer
				switch i % 3 {
				case 0:
					a = h.Do("GET", "/api/audit?limit=200", "")
				case 1:
					a = h.Do("POST", "/api/tokens", newToken)
				default:
					a = h.As("prl_"+strings.Repeat("A", 43), "GET", "/api/status", "")
				}
				if a.Status >= 500 {
					t.Errorf("%d %s", a.Status, a.Body)
					return
				}
				answered.Add(1)
			}
		})
	}
	for seen := 0; seen < 50 || answered.Load() < 500; seen++ {
		if a := h.Do("GET", "/healthz", ""); a.Status != 200 {
			t.Errorf("/healthz: %d %v", a.Status, a.Err)
			break
		}
	}
	if ready, checks := readiness(h); !ready {
		t.Errorf("/readyz: %v", checks)
	}
	over.Store(true)
	flood.Wait()
}
