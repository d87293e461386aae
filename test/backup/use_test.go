package backup_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	talkwire "parley.internal/protocol/agentfirst"
	"parley.internal/protocol/kenny"
	wire "parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

// user drives a hub by its commands and clients.
type user struct {
	t    *testing.T
	h    *hubtest.Hub
	data string
	dir  string // where keys and backups are kept
}

// run is a command of the program against the hub; it must succeed.
func (u *user) run(args ...string) string {
	u.t.Helper()
	out, err := u.try(args...)
	if err != nil {
		u.t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (u *user) try(args ...string) (string, error) {
	u.t.Helper()
	cmd := hubtest.Command(u.t, append(args, "--data", u.data)...)
	cmd.Dir = u.dir
	cmd.Env = append(cmd.Env, "HOME="+u.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// find is what a pattern's group matches in a command's output.
func (u *user) find(pattern string, args ...string) string {
	u.t.Helper()
	out := u.run(args...)
	found := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if found == nil {
		u.t.Fatalf("parley %s says nothing like %s:\n%s", strings.Join(args, " "), pattern, out)
	}
	return found[1]
}

func (u *user) write(name, text string) {
	u.t.Helper()
	file := filepath.Join(u.data, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// everything uses the hub in all its parts.
func (u *user) everything() {
	u.t.Helper()
	for _, part := range []func(){u.people, u.talk, u.tasks, u.machines, u.place, u.skills, u.rooms} {
		part()
	}
}

func (u *user) people() {
	u.t.Helper()
	u.run("token", "create", "--name", "laptop")
	gone := u.find(`id ([0-9a-f-]+)`, "token", "create", "--name", "gone")
	u.run("token", "revoke", gone)
	if a := u.h.Do("POST", "/api/people", `{"name":"zoe"}`); a.Status >= 300 {
		u.t.Fatalf("a second person: %d %s", a.Status, a.Body)
	}
	// A page logs in with a link.
	if a := u.h.As("", http.MethodPost, "/api/session", `{"login":"`+u.find(`#login=(\S+)`, "login")+`"}`); a.Status >= 300 {
		u.t.Fatalf("logging in: %d %s", a.Status, a.Body)
	}
	u.run("login") // this one waits
}

func (u *user) talk() {
	u.t.Helper()
	u.run("agent", "new", "clerk", "--prompt", "You write things down.")
	u.run("chat", "parley", "-m", "/say The harbour is frozen")
	u.run("chat", "parley", "--thread", "trip", "-m", "/say The train leaves at ten")
	u.run("chat", "parley", "--guest", "kibitzer", "-m", "/say I only watch")
	u.run("chat", "parley", "-m", `/tool remember {"name":"tea","text":"green, ὁ λόγος"}`)
	u.run("conversation", "compact", "parley", "--thread", "trip", "--focus", "times")
	c, err := agentfirst.Dial(u.t.Context(), "unix://"+filepath.Join(u.data, "parley.sock"), agentfirst.Options{})
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.CreateCron(u.t.Context(), &talkwire.CreateCron{Schedule: "0 0 1 1 *", Skill: "tea", Agent: "parley"}); err != nil {
		u.t.Fatalf("a turn that comes by itself: %v", err)
	}
}

func (u *user) tasks() {
	u.t.Helper()
	u.run("task", "submit", "/say Good morning.", "--key", "k1", "--watch")
	u.run("task", "submit", `/tool shell {"command":"mkdir -p artifacts && echo done"}`, "--mode", "always_execute", "--watch")
	asked, _ := u.try("task", "submit", `/tool shell {"command":"touch made"}`, "--mode", "always_ask", "--no-wait")
	if !strings.Contains(asked, "waiting for approval") {
		u.t.Fatalf("a task that has to ask said %s", asked)
	}
	waiting := u.find(`"task_id":"([0-9a-f-]+)"`, "approvals", "list", "--json")
	u.run("task", "message", waiting, "/say More.")
	u.run("terminal", "open", "--command", "echo 42", "--attach")
}

func (u *user) machines() {
	u.t.Helper()
	u.run("machine", "policy", "add", "op.no-choco", "--pattern", "choco", "--reason", "we use winget")
	u.run("machine", "token", "away")
	u.run("machine", "link", "away")
	u.run("machine", "call", "away", "fs_list", "path=/tmp", "--queue", "1h")
	m := hubtest.Enrol(u.t, u.h, "box", func(context.Context, *kenny.Request) (jsontext.Value, error) {
		return jsontext.Value(`{"path":"/tmp","entries":[],"truncated":false}`), nil
	})
	client, stop := m.Client(u.t, u.h)
	defer stop()
	u.run("machine", "call", "box", "fs_list", "path=/tmp")
	snapshot := map[string]jsontext.Value{"disk": jsontext.Value(`{"status":"ok","summary":"fine","volumes":[{"mount":"/","total_bytes":1000,"free_bytes":1,"percent_used":41.5}]}`)}
	for range 2 {
		if err := client.PushTelemetry(time.Now(), snapshot); err != nil {
			u.t.Fatal(err)
		}
	}
	hubtest.Eventually(u.t, "the telemetry is known", func() bool {
		out, err := u.try("machine", "show", "box")
		return err == nil && strings.Contains(out, "disk")
	})
}

func (u *user) place() {
	u.t.Helper()
	u.run("place", "keys", "new", "bob.pem")
	u.run("place", "receive", "--as", "bob.pem", "--id", "bob")
	u.run("place", "send", "bob", "Good morning")
	u.run("place", "receive", "--as", "bob.pem", "--id", "bob")
	u.run("place", "send", "bob", "Good evening") // it waits
	u.run("place", "post", "offer_skill", "Tea", "How to brew it", "--tags", "drink", "--as", "bob.pem", "--id", "bob")
	keys, err := hubapi.Call(u.t.Context(), u.h.Client(), wire.ListPlaceKeys, wire.PlaceLimit{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, key := range keys.Keys {
		if key.Agent == "bob" {
			if _, err := hubapi.Call(u.t.Context(), u.h.Client(), wire.TrustKey, wire.TrustRequest{Address: "bob", KeyID: key.KeyID}); err != nil {
				u.t.Fatal(err)
			}
		}
	}
}

func (u *user) skills() {
	u.t.Helper()
	u.run("skill", "offer", "tea", "bob")
	u.run("skill", "request", "bob", "coffee")
	u.run("skill", "say", "propose", "bob", `{"title":"Tea?","text":"At four."}`)
}

func (u *user) rooms() {
	u.t.Helper()
	u.run("room", "open", "den", "--title", "A room")
	u.run("room", "keygen", "--out", "bot.key")
	u.run("room", "policy", "den", "--allow", "bot.key", "--caps", "read-chat,send-chat", "--label", "notes")
	u.run("room", "join", "den", "--key", "bot.key", "--name", "Bot", "--say", "hello from a key")
	u.run("room", "join", "den", "--agent", "kibitzer")
	u.run("room", "invite", "den", "--name", "Zoe", "--ttl", "1h")
}
