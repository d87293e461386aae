//go:build unix

package board_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/face/board"
)

// open makes a terminal.
func (c *client) open(command string) string {
	c.t.Helper()
	f := c.ask("terminal:create", obj{"command": command, "name": "x"})
	if f.Type != "terminal:created" {
		c.t.Fatalf("%s", f)
	}
	return f.text("terminal.id")
}

// shown reads a terminal's output until it holds some words.
func (c *client) shown(id, words string) string {
	c.t.Helper()
	return c.shownTimes(id, words, 1)
}

func (c *client) shownTimes(id, words string, n int) string {
	c.t.Helper()
	var text string
	for strings.Count(text, words) < n {
		if f := c.next(); f.Type == "terminal:output" && f.text("terminal_id") == id {
			text += f.text("data")
		}
	}
	return text
}

func TestATerminalIsMadeListedAndUsed(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	f := c.ask("terminal:create", obj{"name": "build", "command": "exec sh", "rows": 30})
	info := f.get("terminal").(obj)
	if f.Type != "terminal:created" || info["name"] != "build" || !cmp.Equal(info["size"], any(obj{"rows": 30.0, "cols": 80.0})) || info["status"] != "running" || info["cwd"] != h.workspace {
		t.Fatalf("%s", f)
	}
	id := info["id"].(string)
	list := c.ask("terminal:list", obj{})
	if all := list.get("terminals").([]any); len(all) != 1 || all[0].(obj)["id"] != id {
		t.Errorf("%s; want len(all) to be 1, all[0].(obj)[\"id\"] to be %v", list, id)
	}
	// Typing needs no attachment; attaching shows what happened before.
	c.send("terminal:input", obj{"terminal_id": id, "data": "echo $((6*7))\n"})
	attached := c.ask("terminal:attach", obj{"terminal_id": id})
	if attached.Type != "terminal:attached" || attached.number("offset") != 0 || attached.get("truncated") != false || attached.number("size.rows") != 30 {
		t.Errorf("%s", attached)
	}
	c.shown(id, "42")
	// "Enter" is a word.
	c.send("terminal:input", obj{"terminal_id": id, "data": "echo Enter"})
	c.send("terminal:input", obj{"terminal_id": id, "data": "\n"})
	c.shownTimes(id, "Enter", 2) // as it was typed, and as it was said
	c.send("terminal:input", obj{"terminal_id": id, "data": "exit 3\n"})
	exit := c.await("terminal:exit")
	if exit.number("exit_code") != 3 || exit.text("terminal_id") != id {
		t.Errorf("%s; want exit.number(\"exit_code\") to be 3, exit.text(\"terminal_id\") to be %v", exit, id)
	}
	if f := c.ask("terminal:input", obj{"terminal_id": id, "data": "x"}); f.text("error.type") != "terminal_exited" {
		t.Errorf("%s; want f.text(\"error.type\") to be \"terminal_exited\"", f)
	}
	// Its output can still be looked at.
	c.ask("terminal:attach", obj{"terminal_id": id})
	if text := c.shown(id, "exit 3"); !strings.Contains(text, "42") {
		t.Errorf("%q; want \"42\" in it", text)
	}
	c.await("terminal:exit")
}

func TestTwoViewersEachWithTheirOwn(t *testing.T) {
	h := newHub(t)
	a, b := h.connect(h.token), h.connect(h.token)
	id := a.open("stty -echo; echo ready; cat")
	a.ask("terminal:attach", obj{"terminal_id": id})
	b.ask("terminal:attach", obj{"terminal_id": id})
	a.shown(id, "ready")
	b.shown(id, "ready")
	a.send("terminal:input", obj{"terminal_id": id, "data": "hello\n"})
	a.shown(id, "hello")
	b.shown(id, "hello")
	// The size is the smaller of both; both are told.
	if f := a.ask("terminal:resize", obj{"terminal_id": id, "rows": 50, "cols": 100}); f.Type != "terminal:resized" || f.number("rows") != 50 {
		t.Errorf("%s; want f.Type to be \"terminal:resized\", f.number(\"rows\") to be 50", f)
	}
	b.until(func(f frame) bool { return f.Type == "terminal:resized" && f.number("cols") == 100 })
	if f := b.ask("terminal:resize", obj{"terminal_id": id, "rows": 60, "cols": 90}); f.number("rows") != 50 || f.number("cols") != 90 {
		t.Errorf("%s; want f.number(\"rows\") to be 50, f.number(\"cols\") to be 90", f)
	}
	a.until(func(f frame) bool { return f.Type == "terminal:resized" && f.number("cols") == 90 })
	// Detaching is here only.
	if f := b.ask("terminal:detach", obj{"terminal_id": id}); f.Type != "terminal:detached" {
		t.Errorf("%s; want f.Type to be \"terminal:detached\"", f)
	}
	b.ask("terminal:detach", obj{"terminal_id": id})
	mark := len(b.seen)
	a.send("terminal:input", obj{"terminal_id": id, "data": "more\n"})
	a.shown(id, "more")
	b.alive()
	for _, f := range b.seen[mark:] {
		if f.Type == "terminal:output" {
			t.Errorf("%s; want f.Type not to be \"terminal:output\"", f)
		}
	}
	// Attaching twice starts over and doubles nothing.
	b.ask("terminal:attach", obj{"terminal_id": id})
	b.shown(id, "more")
	b.ask("terminal:attach", obj{"terminal_id": id})
	mark = len(b.seen)
	b.shown(id, "more")
	a.send("terminal:input", obj{"terminal_id": id, "data": "last\n"})
	b.shown(id, "last")
	var text string
	for _, f := range b.seen[mark:] {
		text += f.text("data")
	}
	if text != "ready\r\nhello\r\nmore\r\nlast\r\n" {
		t.Errorf("%q; want text to be \"ready\\r\\nhello\\r\\nmore\\r\\nlast\\r\\n\"", text)
	}
	// Closed by one, both learn of it; the closer's answer is the exit.
	exit := b.ask("terminal:close", obj{"terminal_id": id})
	if exit.Type != "terminal:exit" || exit.text("signal") != "SIGHUP" {
		t.Errorf("%s; want exit.Type to be \"terminal:exit\", exit.text(\"signal\") to be \"SIGHUP\"", exit)
	}
	if f := a.await("terminal:exit"); f.ReplyTo != "" {
		t.Errorf("%s; want f.ReplyTo to be \"\"", f)
	}
	b.alive()
	exits := 0
	for _, f := range b.seen {
		if f.Type == "terminal:exit" {
			exits++
		}
	}
	if exits != 1 {
		t.Errorf("told of the exit %d times", exits)
	}
}

// Who made a terminal is told of its exit without looking.
func TestTheCreatorLearnsOfTheExit(t *testing.T) {
	h := newHub(t)
	c, other := h.connect(h.token), h.connect(h.token)
	id := c.open("read x; exit 4")
	c.ask("terminal:attach", obj{"terminal_id": id})
	c.ask("terminal:detach", obj{"terminal_id": id})
	other.send("terminal:input", obj{"terminal_id": id, "data": "\n"})
	if f := c.await("terminal:exit"); f.number("exit_code") != 4 {
		t.Errorf("%s; want f.number(\"exit_code\") to be 4", f)
	}
	other.alive()
	for _, f := range other.seen {
		if f.Type == "terminal:exit" {
			t.Errorf("%s; want f.Type not to be \"terminal:exit\"", f)
		}
	}
	// One who neither made it nor looks may close it all the same.
	id = c.open("cat")
	if f := other.ask("terminal:close", obj{"terminal_id": id}); f.Type != "terminal:exit" {
		t.Errorf("%s; want f.Type to be \"terminal:exit\"", f)
	}
	c.await("terminal:exit")
}

func TestTerminalsAreRefusedInTheirOwnWords(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	id := c.open("cat")
	for _, tt := range []struct {
		typ     string
		payload obj
		code    string
	}{
		{"terminal:attach", obj{"terminal_id": "none"}, "terminal_not_found"},
		{"terminal:input", obj{"terminal_id": "none", "data": "x"}, "terminal_not_found"},
		{"terminal:resize", obj{"terminal_id": "none", "rows": 5, "cols": 5}, "terminal_not_found"},
		{"terminal:close", obj{"terminal_id": "none"}, "terminal_not_found"},
		{"terminal:resize", obj{"terminal_id": id, "rows": 0, "cols": 5}, "bad_size"},
		{"terminal:resize", obj{"terminal_id": id, "rows": 5, "cols": 1001}, "bad_size"},
		{"terminal:create", obj{"rows": 5000}, "bad_size"},
		{"terminal:create", obj{"cwd": "no/such/folder"}, "spawn_failed"},
		{"terminal:input", obj{"terminal_id": id, "data": strings.Repeat("x", 64<<10+1)}, "limit"},
	} {
		f := c.ask(tt.typ, tt.payload)
		if f.Type != "terminal:error" || f.text("error.type") != tt.code || f.text("error.message") == "" {
			t.Errorf("%s %v: %s; want f.Type to be \"terminal:error\", f.text(\"error.type\") to be %v, f.text(\"error.message\") not to be \"\"", tt.typ, tt.payload, f, tt.code)
		}
		if want, _ := tt.payload["terminal_id"].(string); f.text("terminal_id") != want {
			t.Errorf("%s; want f.text(\"terminal_id\") to be %v", f, want)
		}
	}
	wantError(t, c.ask("terminal:attach", obj{}), "protocol_error", "bad_payload")
}

func TestWhoMayOnlyLookCannotType(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	id := c.open("cat")
	reader := h.connect(h.newToken("", "terminal:read").Secret)
	reader.ask("terminal:attach", obj{"terminal_id": id})
	for typ, payload := range map[string]obj{
		"terminal:input": {"terminal_id": id, "data": "x"}, "terminal:resize": {"terminal_id": id, "rows": 5, "cols": 5},
		"terminal:create": {}, "terminal:close": {"terminal_id": id},
	} {
		wantError(t, reader.ask(typ, payload), "auth_failed", "insufficient_scope")
	}
	c.send("terminal:input", obj{"terminal_id": id, "data": "for all to see\n"})
	reader.shown(id, "for all to see")
}

func TestSecretsStayHiddenOnTheWire(t *testing.T) {
	h := newHub(t)
	c := h.connect(h.token)
	id := c.open("stty -echo; printf 'it is top-secr'; read x; printf 'et-value.'; exit")
	c.ask("terminal:attach", obj{"terminal_id": id})
	c.shown(id, "it is ")
	c.send("terminal:input", obj{"terminal_id": id, "data": "\n"})
	c.await("terminal:exit")
	var text string
	for _, f := range c.seen {
		text += f.text("data")
	}
	if strings.Contains(text, "top-secret-value") || !strings.Contains(text, "[masked].") {
		t.Errorf("%q; want not \"top-secret-value\" in it, \"[masked].\" in it", text)
	}
}

func TestTypingHasABoundOfItsOwn(t *testing.T) {
	h := newHub(t, limits(board.Limits{InputPerSecond: 70_000, AuthPerMinute: 1000}))
	c := h.connect(h.token)
	id := c.open("stty -echo; exec cat > /dev/null")
	paste := strings.Repeat("x\n", 30<<10)
	first := c.send("terminal:input", obj{"terminal_id": id, "data": paste})
	if f := c.ask("terminal:input", obj{"terminal_id": id, "data": paste}); f.text("error.type") != "limit" || f.get("error.recoverable") != true {
		t.Errorf("%s; want f.text(\"error.type\") to be \"limit\", f.get(\"error.recoverable\") to be true", f)
	}
	for _, f := range c.seen {
		if f.ReplyTo == first {
			t.Errorf("%s; want f.ReplyTo not to be first", f)
		}
	}
}

// A viewer that does not read is moved forward by the terminal, not cut.
func TestASlowViewerIsNotCut(t *testing.T) {
	h := newHub(t)
	slow, quick := h.connect(h.token), h.connect(h.token)
	id := quick.open("stty -echo; read x; head -c 4000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo finished; cat")
	slow.ask("terminal:attach", obj{"terminal_id": id})
	quick.ask("terminal:attach", obj{"terminal_id": id})
	quick.send("terminal:input", obj{"terminal_id": id, "data": "\n"})
	quick.shown(id, "finished")
	slow.shown(id, "finished")
	slow.alive()
}
