package acpagent

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/acp"
)

// agent is the program.
type agent struct {
	mu      sync.Mutex
	out     io.Writer
	next    int
	waiting map[string]chan acp.Message
	cancel  chan struct{} // closed when the prompt is cancelled

	dir, session string
	load         bool
}

// Main runs the agent until its input ends.
func Main(args []string) {
	a := &agent{out: os.Stdout, waiting: map[string]chan acp.Message{}, load: !slices.Contains(args, "noload")}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0) //nolint:forbidigo // a program of its own, whose prompts may still run
		}
		if m, err := acp.Decode(line); err == nil {
			a.take(m)
		}
	}
}

// take deals with one message; prompts run beside.
func (a *agent) take(m acp.Message) {
	switch {
	case m.Answer():
		a.mu.Lock()
		answer := a.waiting[string(m.ID)]
		delete(a.waiting, string(m.ID))
		a.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	case m.Method == acp.Cancel:
		a.mu.Lock()
		if a.cancel != nil {
			close(a.cancel)
			a.cancel = nil
		}
		a.mu.Unlock()
	case m.Method == acp.Prompt:
		cancelled := make(chan struct{})
		a.mu.Lock()
		a.cancel = cancelled
		a.mu.Unlock()
		go a.prompt(m, cancelled)
	default:
		result, err := a.serve(m)
		a.answer(m, result, err)
	}
}

func (a *agent) serve(m acp.Message) (any, *acp.Error) {
	switch m.Method {
	case acp.Initialize:
		return acp.InitializeResponse{Version: acp.Version, Agent: acp.AgentCapabilities{LoadSession: a.load}, Auth: []acp.AuthMethod{}}, nil
	case acp.NewSession, acp.LoadSession:
		req, _ := acp.Read[acp.SessionRequest](m.Params)
		a.dir, a.session = req.Dir, req.Session
		if m.Method == acp.NewSession {
			a.session = "s" + rand.Text() // in a box every program has the same number
			return acp.SessionResponse{Session: a.session}, nil
		}
		if _, err := os.Stat(a.memory()); err != nil {
			return nil, &acp.Error{Code: acp.CodeNotFound, Message: "this session is not known"}
		}
		a.say("what was said before is told again")
		return acp.SessionResponse{}, nil
	}
	return nil, &acp.Error{Code: acp.CodeUnknownMethod, Message: "unknown method"}
}

// memory is the file that a session is kept in.
func (a *agent) memory() string { return filepath.Join(a.dir, "."+filepath.Base(a.session)+".session") }

// remember counts a prompt.
func (a *agent) remember() int {
	raw, _ := os.ReadFile(a.memory())
	n, _ := strconv.Atoi(string(raw))
	if err := os.WriteFile(a.memory(), []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		a.say("cannot remember: " + err.Error())
	}
	return n + 1
}

func (a *agent) prompt(m acp.Message, cancelled chan struct{}) {
	req, _ := acp.Read[acp.PromptRequest](m.Params)
	n := a.remember()
	for _, block := range req.Prompt {
		for line := range strings.Lines(block.Text) {
			word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if word == "memory" {
				a.say(fmt.Sprintf("prompt %d", n))
				continue
			}
			a.do(word, rest, cancelled)
			select {
			case <-cancelled:
				a.answer(m, acp.PromptResponse{Reason: acp.Cancelled}, nil)
				return
			default:
			}
		}
	}
	a.answer(m, acp.PromptResponse{Reason: acp.EndTurn, Usage: &acp.Usage{Input: int64(10 * n), Output: int64(5 * n), Total: int64(15 * n)}}, nil)
}

func (a *agent) send(m acp.Message) {
	line, err := acp.Encode(m)
	if err != nil {
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.Write(line)
}

func (a *agent) answer(to acp.Message, result any, failed *acp.Error) {
	if to.ID == nil {
		return
	}
	m := acp.Message{ID: to.ID, Error: failed}
	if failed == nil {
		m.Result, _ = acp.Raw(result)
	}
	a.send(m)
}

// request asks the client, and waits for the answer unless the prompt is cancelled.
func (a *agent) request(method string, params any, cancelled chan struct{}) (acp.Message, bool) {
	raw, _ := acp.Raw(params)
	a.mu.Lock()
	a.next++
	id := strconv.Itoa(a.next)
	answer := make(chan acp.Message, 1)
	a.waiting[id] = answer
	a.mu.Unlock()
	a.send(acp.Message{ID: jsontext.Value(id), Method: method, Params: raw})
	select {
	case m := <-answer:
		return m, true
	case <-cancelled:
		return acp.Message{}, false
	}
}

func (a *agent) update(c acp.Change) {
	raw, _ := acp.Raw(acp.SessionUpdate{Session: a.session, Update: c})
	a.send(acp.Message{Method: acp.Update, Params: raw})
}

func (a *agent) say(text string) {
	raw, _ := acp.Raw(acp.Block{Type: "text", Text: text + "\n"})
	a.update(acp.Change{Kind: acp.AgentText, Content: raw})
}
