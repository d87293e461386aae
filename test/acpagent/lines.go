package acpagent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"parley.internal/protocol/acp"
)

// do does what one line of a prompt says.
func (a *agent) do(word, rest string, cancelled chan struct{}) {
	switch word {
	case "say":
		a.say(rest)
	case "ask":
		a.say(a.ask(acp.KindExecute, map[string]any{"command": rest}, usual, cancelled))
	case "only-always":
		a.say(a.ask(acp.KindExecute, map[string]any{"command": rest}, []acp.Option{{ID: "for-ever", Name: "Always", Kind: acp.AllowAlways}}, cancelled))
	case "twice":
		var both sync.WaitGroup
		for one := range strings.SplitSeq(rest, " | ") {
			both.Go(func() { a.say(one + ": " + a.ask(acp.KindExecute, map[string]any{"command": one}, usual, cancelled)) })
		}
		both.Wait()
	case "edit":
		a.say(a.ask(acp.KindEdit, map[string]any{"path": rest}, usual, cancelled))
	case "read":
		m, ok := a.request(acp.ReadTextFile, acp.ReadRequest{Session: a.session, Path: a.path(rest)}, cancelled)
		got, _ := acp.Read[acp.ReadResponse](m.Result)
		a.came(m, ok, "read "+strconv.Itoa(len(got.Content))+" bytes: "+got.Content[:min(len(got.Content), 100)])
	case "write":
		path, text, _ := strings.Cut(rest, " ")
		m, ok := a.request(acp.WriteTextFile, acp.WriteRequest{Session: a.session, Path: a.path(path), Content: text}, cancelled)
		a.came(m, ok, "wrote "+path)
	case "look":
		raw, err := os.ReadFile(rest)
		a.say(fmt.Sprintf("looked: %q %v", raw, err != nil))
	case "run":
		a.run(rest, cancelled)
	case "reads":
		out, _ := acp.Raw([]acp.ToolContent{{Type: "content", Content: &acp.Block{Type: "text", Text: rest}}})
		in, _ := acp.Raw(map[string]string{"path": "notes.txt"})
		a.update(acp.Change{Kind: acp.ToolCallBegan, ToolCall: acp.ToolCall{ID: "t1", Title: "Read notes.txt", Tool: acp.KindRead, Status: acp.StatusRunning, Input: in}})
		a.update(acp.Change{Kind: acp.ToolCallUpdate, ToolCall: acp.ToolCall{ID: "t1", Status: acp.StatusCompleted}, Content: out})
	case "plan":
		var plan []acp.PlanEntry
		for i, one := range strings.Split(rest, " | ") {
			plan = append(plan, acp.PlanEntry{Content: one, Priority: "medium", Status: []string{acp.StatusRunning, acp.StatusPending}[min(i, 1)]})
		}
		a.update(acp.Change{Kind: acp.PlanChanged, Entries: plan})
	case "cost":
		usd, _ := strconv.ParseFloat(rest, 64)
		a.update(acp.Change{Kind: acp.UsageChanged, Used: 1, Size: 2, Cost: &acp.Cost{Amount: usd, Currency: "USD"}})
	default:
		a.misbehave(word, cancelled)
	}
}

// misbehave does what no agent should.
func (a *agent) misbehave(word string, cancelled chan struct{}) {
	switch word {
	case "die":
		fmt.Fprintln(os.Stderr, "it was told to die")
		os.Exit(3) //nolint:forbidigo // a program of its own, which dies as it was told
	case "hang":
		a.say("hanging")
		<-cancelled
	case "deaf":
		a.say("deaf")
		select {}
	case "flood":
		for {
			a.say(strings.Repeat("flood ", 1000))
		}
	case "long":
		a.say(strings.Repeat("x", acp.MaxMessage))
	case "garbage":
		for range 1000 {
			a.mu.Lock()
			_, _ = a.out.Write([]byte("this is no message\n"))
			a.mu.Unlock()
		}
	case "unknown":
		a.send(acp.Message{Method: "session/never_heard_of"})
		a.update(acp.Change{Kind: "never_heard_of"})
		m, ok := a.request("never/heard_of", acp.CancelNotification{Session: a.session}, cancelled)
		a.came(m, ok, "served")
	case "stranger":
		mine := a.session
		a.session = "somebody-elses"
		a.say("words of a stranger")
		said := a.ask(acp.KindExecute, map[string]any{"command": "date"}, usual, cancelled)
		a.session = mine
		a.say(said)
	}
}

// usual are the options most agents offer.
var usual = []acp.Option{
	{ID: "for-ever", Name: "Always", Kind: acp.AllowAlways}, {ID: "once", Name: "Once", Kind: acp.AllowOnce}, {ID: "no", Name: "No", Kind: acp.RejectOnce},
}

// ask asks for permission and tells what was answered.
func (a *agent) ask(kind string, input map[string]any, options []acp.Option, cancelled chan struct{}) string {
	raw, _ := acp.Raw(input)
	about := acp.PermissionSubject{ToolCall: acp.ToolCall{ID: fmt.Sprint("ask-", input), Title: "do it", Tool: kind, Status: acp.StatusPending, Input: raw}}
	if kind == acp.KindEdit {
		about.Content = []acp.ToolContent{{Type: "diff", Path: fmt.Sprint(input["path"]), Old: "old words", New: "new words"}}
	}
	m, ok := a.request(acp.RequestPermission, acp.PermissionRequest{Session: a.session, ToolCall: about, Options: options}, cancelled)
	switch {
	case !ok:
		return "cancelled by my client"
	case m.Error != nil:
		return "refused: " + m.Error.Message
	}
	res, _ := acp.Read[acp.PermissionResponse](m.Result)
	return "answer " + res.Outcome.Outcome + " " + res.Outcome.Option
}

func (a *agent) run(command string, cancelled chan struct{}) {
	m, ok := a.request(acp.CreateTerminal, acp.CreateTerminalRequest{Session: a.session, Command: "sh", Args: []string{"-c", command}}, cancelled)
	if !ok || m.Error != nil {
		a.came(m, ok, "")
		return
	}
	made, _ := acp.Read[acp.TerminalRef](m.Result)
	made.Session = a.session
	m, _ = a.request(acp.WaitForExit, made, cancelled)
	exit, _ := acp.Read[acp.ExitStatus](m.Result)
	m, _ = a.request(acp.TerminalOutput, made, cancelled)
	printed, _ := acp.Read[acp.OutputResponse](m.Result)
	_, _ = a.request(acp.ReleaseTerminal, made, cancelled)
	code := -1
	if exit.Code != nil {
		code = *exit.Code
	}
	a.say(fmt.Sprintf("ran, exit %d: %s", code, strings.TrimSpace(printed.Output)))
}

// came tells what came of a request.
func (a *agent) came(m acp.Message, ok bool, good string) {
	switch {
	case !ok:
		a.say("cancelled by my client")
	case m.Error != nil:
		a.say(fmt.Sprintf("refused %d: %s", m.Error.Code, m.Error.Message))
	default:
		a.say(good)
	}
}

// path is where a file is, for a client that wants whole paths.
func (a *agent) path(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return a.dir + "/" + name
}
