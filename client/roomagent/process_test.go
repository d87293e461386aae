package roomagent_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"parley.internal/client/roomagent"
	"parley.internal/protocol/kibitz"
)

// process is an agent in a process of its own.
type process struct {
	t     *testing.T
	id    string
	in    io.WriteCloser
	lines *bufio.Scanner
}

func (p *place) process(t *testing.T, name string, key *kibitz.PrivateKey) *process {
	t.Helper()
	cmd := exec.Command(must(os.Executable())(t))
	private := must(key.ExportPrivate())(t)
	cmd.Env = append(os.Environ(), roomagent.PeerVariable+"="+p.server.URL+"/r/table "+name+" "+string(private))
	cmd.Stderr = os.Stderr
	a := &process{t: t, in: must(cmd.StdinPipe())(t), lines: bufio.NewScanner(must(cmd.StdoutPipe())(t))}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = a.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v; want no error", name, err)
		}
	})
	a.id = a.next("self")
	return a
}

// next is the rest of the next line that begins so.
func (p *process) next(word string) string {
	p.t.Helper()
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), word+" "); ok {
			return rest
		}
	}
	p.t.Fatalf("it ended without %q", word)
	return ""
}

func (p *process) say(line string) { fmt.Fprintln(p.in, line) }

func TestAMeshBetweenTwoProcesses(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := openPlace(t, allowing(t, `"mesh":{"data":true},`, talker, a, b))
	one, two := p.process(t, "A", a), p.process(t, "B", b)
	if got := one.next("linked"); got != two.id {
		t.Errorf("linked with %s", got)
	}
	if got := two.next("linked"); got != one.id {
		t.Errorf("linked with %s", got)
	}
	one.say(`{"to":"all","n":12345678901234567890}`)
	if got := two.next("heard"); got != one.id+` {"to":"all","n":12345678901234567890}` {
		t.Error(got)
	}
	two.say("@" + one.id + ` "only you"`)
	if got := one.next("heard"); got != two.id+` "only you"` {
		t.Error(got)
	}
	// None of it went through the hub.
	if seq := p.roster(t).Seq; seq != 0 {
		t.Errorf("the relay has numbered %d messages", seq)
	}
}
