package mcpclient

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"parley.internal/internal/brain/tool"
)

// inMemory links to a server in this process and counts how often.
func inMemory(starts *int) func(Server, User) (link, error) {
	return func(Server, User) (link, error) {
		*starts++
		near, far := mcp.NewInMemoryTransports()
		if _, err := testServer().Connect(context.Background(), far, nil); err != nil {
			return link{}, err
		}
		return link{transport: near, kill: func() {}, said: func() string { return "" }}, nil
	}
}

func TestAnIdleClientIsStoppedAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		p := New(Options{dial: inMemory(&starts)})
		defer p.Close()
		if err := p.Set([]Server{{Name: "test", Command: "x"}}); err != nil {
			t.Fatal(err)
		}
		x := tools(t, p, "a")
		for range 3 { // use keeps it alive
			<-time.After(9 * time.Minute)
			call(t, x["pid"])
		}
		if s := status(p); starts != 1 || s != "connected 6 " {
			t.Errorf("%d starts, %s", starts, s)
		}
		<-time.After(10*time.Minute + time.Second)
		synctest.Wait()
		if s := status(p); s != "disconnected 6 " {
			t.Errorf("idle: %s", s)
		}
		tools(t, p, "a") // the list is known: nothing is started for it
		if starts != 1 {
			t.Errorf("%d starts", starts)
		}
		call(t, x["pid"])
		if s := status(p); starts != 2 || s != "connected 6 " {
			t.Errorf("%d starts, %s", starts, s)
		}
	})
}

func TestALongCallIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		p := New(Options{dial: inMemory(&starts)})
		defer p.Close()
		if err := p.Set([]Server{{Name: "test", Command: "x"}}); err != nil {
			t.Fatal(err)
		}
		x := tools(t, p, "a")
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if _, err := x["hang"].Run(ctx, tool.Call{}); err == nil || ctx.Err() == nil {
			t.Errorf("ended early: %v", err)
		}
		if s := status(p); starts != 1 || s != "connected 6 " {
			t.Errorf("%d starts, %s", starts, s)
		}
	})
}

func TestEveryCallOfADyingServerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cut func()
		p := New(Options{dial: func(Server, User) (link, error) {
			toServer, fromClient := io.Pipe()
			toClient, fromServer := io.Pipe()
			cut = func() {
				fromClient.Close()
				fromServer.Close()
			}
			far := &mcp.IOTransport{Reader: toServer, Writer: fromServer}
			if _, err := testServer().Connect(context.Background(), far, nil); err != nil {
				return link{}, err
			}
			near := &mcp.IOTransport{Reader: toClient, Writer: fromClient}
			return link{transport: near, kill: func() {}, said: func() string { return "" }}, nil
		}})
		defer p.Close()
		if err := p.Set([]Server{{Name: "test", Command: "x"}}); err != nil {
			t.Fatal(err)
		}
		x := tools(t, p, "a")
		results := make(chan tool.Result, 5)
		for range cap(results) {
			go func() {
				res, _ := x["hang"].Run(context.Background(), tool.Call{})
				results <- res
			}()
		}
		synctest.Wait() // all of them hang now
		cut()
		for range cap(results) {
			if res := <-results; !res.IsError || !strings.Contains(res.Text, "stopped during the call") {
				t.Errorf("%+v; want res.IsError, \"stopped during the call\" in it", res)
			}
		}
		if res := call(t, x["pid"]); res.IsError {
			t.Errorf("not started again: %+v", res)
		}
	})
}

func TestToolNames(t *testing.T) {
	tests := []struct{ server, name, want string }{
		{"files", "read", "mcp__files__read"},
		{"my-files", "read_file", "mcp__my-files__read_file"},
	}
	for _, tt := range tests {
		if got := ToolName(tt.server, tt.name); got != tt.want {
			t.Errorf("%s %s = %s; want %v", tt.server, tt.name, got, tt.want)
		}
	}
	for _, tt := range [][2]string{{"a b", "c"}, {"a", "c/d"}, {"a__b", "c"}, {"a", strings.Repeat("x", 80)}, {"ä", "ö"}} {
		got := ToolName(tt[0], tt[1])
		if !strings.HasPrefix(got, "mcp__") || len(got) > 64 {
			t.Errorf("%q = %s; want strings.HasPrefix(got, \"mcp__\"), len(got) to be at most 64", tt, got)
		}
	}
}

func TestToolNamesAreValidAndDiffer(t *testing.T) {
	names := rapid.StringMatching(`[a-c_/-]{1,12}|x{60}[ab]`)
	rapid.Check(t, func(t *rapid.T) {
		s1, n1, s2, n2 := names.Draw(t, "s1"), names.Draw(t, "n1"), names.Draw(t, "s2"), names.Draw(t, "n2")
		a, b := ToolName(s1, n1), ToolName(s2, n2)
		if _, err := tool.NewSet(nil, &tool.Tool{Name: a, Class: tool.ReadOnly, Run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }}); err != nil {
			t.Fatal(err)
		}
		if (a == b) != (s1 == s2 && n1 == n2) {
			t.Fatalf("%q %q and %q %q: %s, %s", s1, n1, s2, n2, a, b)
		}
	})
}
