package mcpclient

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server that never answers cost every turn the whole time a start may take.
func TestAServerThatHangsCostsOneTurnAFewSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, answers := 0, false
		works := inMemory(&starts)
		p := New(Options{dial: func(s Server, u User) (link, error) {
			if answers {
				return works(s, u)
			}
			starts++
			in, hold := io.Pipe()
			drain, out := io.Pipe()
			go func() { _, _ = io.Copy(io.Discard, drain) }()
			near := &mcp.IOTransport{Reader: in, Writer: out}
			return link{transport: near, kill: func() { _ = hold.Close(); _ = out.Close() }, said: func() string { return "" }}, nil
		}})
		defer p.Close()
		if err := p.Set([]Server{{Name: "mute", Command: "x"}}); err != nil {
			t.Fatal(err)
		}
		turn := func(what, says string, atMost time.Duration) {
			t.Helper()
			began := time.Now()
			_, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"*"})
			if took := time.Since(began); took > atMost {
				t.Errorf("%s: the turn waited %s, at most %s is wanted", what, took, atMost)
			}
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: it is told %v, want %q", what, err, says)
			}
		}
		if list := p.Awaited([]string{"*"}); len(list) != 1 || list[0] != "mute" {
			t.Errorf("before the first turn %q are awaited", list)
		}
		turn("the first turn", "it is being started", DefaultPatience)
		turn("the next", "it is being started", 0)
		<-time.After(DefaultConnect)
		turn("after the start failed", "tried again later", 0)
		if list := p.Awaited([]string{"*"}); len(list) != 0 || starts != 1 {
			t.Errorf("%q are awaited after %d starts", list, starts)
		}
		answers = true
		<-time.After(firstRest)
		turn("after a while", "last time", 0)
		synctest.Wait()
		if list, err := p.Tools(context.Background(), User{Agent: "a"}, []string{"*"}); err != nil || len(list) == 0 || starts != 2 {
			t.Errorf("once it answers there are %d tools after %d starts, %v", len(list), starts, err)
		}
	})
}
