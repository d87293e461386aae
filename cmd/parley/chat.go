package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	"parley.internal/cmd/parley/tui"
	"parley.internal/internal/fit"
	"parley.internal/internal/hub"
	"parley.internal/internal/visible"
	wire "parley.internal/protocol/agentfirst"
)

// exitCancelled is what a shell reports for a program ended by Ctrl-C.
const exitCancelled = 130

// chatOptions are the flags of chat.
type chatOptions struct {
	agent, message, guest, sender, thread string
	given, steer, interrupt, json         bool
	files                                 []string
}

func newChat(g *globals) *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use: "chat AGENT", Short: "Talk to an agent",
		Long: `On a terminal this is a chat: /help shows what it knows. With -m, or with
something piped in, one message is sent (with both, the text and below it what
is piped in): the reply is on standard output, all
else on standard error. Exit codes: 0 replied, 1 failed, 2 usage, 130 cancelled.`,
		Example: "  parley chat parley\n  parley chat parley -m 'What did we decide about prices?'\n  git diff | parley chat reviewer\n  parley chat reviewer -m 'Is this safe to run?' --attach deploy.sh",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("name one agent; see 'parley agent list'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.agent, o.given, o.json = args[0], cmd.Flags().Changed("message"), g.json
			if err := o.check(); err != nil {
				return err
			}
			return g.chat(cmd, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.message, "message", "m", "", "say this and print the reply")
	flags.StringArrayVarP(&o.files, "attach", "a", nil, "take a file along: text, a picture, a PDF or a voice note (may be given several times)")
	flags.StringVar(&o.guest, "guest", "", "another agent that answers, in this agent's conversation")
	flags.StringVar(&o.sender, "sender", "", "speak as this sender (default: yourself)")
	flags.StringVar(&o.thread, "thread", "", "a thread of the conversation (default: the main one)")
	flags.BoolVar(&o.steer, "steer", false, "join a turn that is running")
	flags.BoolVar(&o.interrupt, "interrupt", false, "cancel a turn that is running and go next")
	return jsonFlag(cmd, g)
}

func (o chatOptions) check() error {
	if o.steer && o.interrupt {
		return usageError("either --steer or --interrupt")
	}
	if err := wire.CheckAgent(o.agent); err != nil {
		return usageError("%s", err)
	}
	return nil
}

func (o chatOptions) turn(text string) *wire.Turn {
	t := &wire.Turn{Agent: o.agent, Content: text, Thread: o.thread}
	if o.sender != "" {
		t.Sender = &o.sender
	}
	if o.guest != "" {
		t.Guest = &o.guest
	}
	if o.steer {
		t.Mode = wire.ModeSteer
	}
	if o.interrupt {
		t.Mode = wire.ModeInterrupt
	}
	return t
}

func (g *globals) chat(cmd *cobra.Command, o chatOptions) error {
	c, err := g.dialTalk(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if !o.given && onTerminal(cmd.InOrStdin()) && onTerminal(cmd.OutOrStdout()) && !o.json {
		if len(o.files) > 0 {
			return usageError("--attach goes with -m or with something piped in; in the chat it is /attach FILE")
		}
		return chatScreen(cmd.Context(), g, c, cmd.OutOrStdout(), o)
	}
	if o.message, err = o.withInput(cmd.InOrStdin()); err != nil {
		return err
	}
	files, err := g.readFiles(cmd, o.files)
	if err != nil {
		return err
	}
	if o.message = tui.Compose(o.message, files); strings.TrimSpace(o.message) == "" && len(files) == 0 {
		return usageError("there is nothing to say: give -m TEXT, or pipe something in")
	}
	out := &plainChat{client: c, out: cmd.OutOrStdout(), remarks: cmd.ErrOrStderr(), options: o}
	turn := o.turn(o.message)
	turn.Files = tui.Stored(files)
	return out.say(cmd.Context(), turn)
}

// withInput is what is said: the message, and below it what is piped in, if anything is.
func (o chatOptions) withInput(in io.Reader) (string, error) {
	if o.given && !piped(in) {
		return o.message, nil
	}
	text, err := io.ReadAll(in)
	if err != nil || !o.given {
		return string(text), err
	}
	if strings.TrimSpace(string(text)) == "" {
		return o.message, nil
	}
	return o.message + "\n\n" + string(text), nil
}

// piped tells a pipe or a file from a terminal, a null device or a socket that somebody
// left open: those would never end.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// readFiles reads text files, and puts all others into the hub.
func (g *globals) readFiles(cmd *cobra.Command, paths []string) (files []tui.Attachment, err error) {
	put := func(path string) (ref *wire.FileRef, err error) {
		err = g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
			ref, err = putFile(ctx, c, path)
			return err
		})
		return ref, err
	}
	for _, path := range paths {
		file, err := tui.Read(path, files, put)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// dialTalk reaches the conversations of the hub a command is about: the one that
// was named, else the one on the data folder.
func (g *globals) dialTalk(ctx context.Context) (c *agentfirst.Client, err error) {
	address, token := firstOf(g.hub, os.Getenv("PARLEY_HUB")), firstOf(g.token, os.Getenv("PARLEY_TOKEN"))
	if address != "" {
		if token == "" {
			return nil, usageError("a token is needed for %s: set PARLEY_TOKEN or give --token", address)
		}
		return dialWeb(ctx, address, token)
	}
	folder := hub.Folder(g.data)
	if c, err = agentfirst.Dial(ctx, (&url.URL{Scheme: "unix", Path: folder.Path("parley.sock")}).String(), agentfirst.Options{Token: token, Client: "parley"}); err == nil {
		return c, nil
	}
	if errors.Is(err, agentfirst.ErrUnauthenticated) {
		return nil, err
	}
	// No socket: too long a path, or a system where it wants a token.
	running, missing := folder.Running()
	if missing != nil || !answers(ctx, running.URL) {
		return nil, fmt.Errorf("no hub runs on %s: start one with 'parley up', or name one with --hub and --token", g.data)
	}
	if token == "" {
		if token, err = folder.OwnerToken(); err != nil {
			return nil, noHub(g.data, err)
		}
	}
	return dialWeb(ctx, running.URL, token)
}

func dialWeb(ctx context.Context, address, token string) (*agentfirst.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, usageError("--hub: %s", err)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	default:
		return nil, usageError("--hub: want an address such as https://hub.example.org")
	}
	return agentfirst.Dial(ctx, u.JoinPath("talk/ws").String(), agentfirst.Options{Token: token, Client: "parley"})
}

// onTerminal reports whether a person is at the other end.
func onTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok || !isTerminal(f) {
		return false
	}
	// The null device is a character device too.
	here, err := f.Stat()
	null, missing := os.Stat(os.DevNull)
	return err == nil && (missing != nil || !os.SameFile(here, null))
}

// plainChat says one thing and prints the reply.
type plainChat struct {
	client  *agentfirst.Client
	out     io.Writer
	remarks io.Writer
	options chatOptions

	runID string
	text  strings.Builder
	fresh bool // the next text begins a round
}

func (p *plainChat) say(ctx context.Context, turn *wire.Turn) error {
	for ev, err := range p.client.Stream(ctx, turn) {
		if err != nil {
			if ctx.Err() != nil {
				return p.finish(&exitError{code: exitCancelled, text: "cancelled"})
			}
			return p.finish(err)
		}
		if end := ev.GetEnd(); end != nil {
			return p.end(end)
		}
		p.event(ctx, ev)
	}
	return p.finish(errors.New("the hub ended the reply early"))
}

func (p *plainChat) remark(format string, args ...any) {
	fmt.Fprintln(p.remarks, visible.Line(fmt.Sprintf(format, args...)))
}

func (p *plainChat) event(ctx context.Context, ev *wire.StreamEvent) {
	switch e := ev.GetEvent().(type) {
	case *wire.StreamEvent_Start:
		p.runID = e.Start.GetRunId()
	case *wire.StreamEvent_Chunk:
		p.print(e.Chunk.GetContent())
	case *wire.StreamEvent_ToolStart:
		for _, call := range e.ToolStart.GetCalls() {
			if call.GetArguments() != "" {
				p.remark("· %s %s", call.GetName(), short(call.GetArguments(), 200))
			}
		}
	case *wire.StreamEvent_ToolResult:
		if e.ToolResult.GetIsError() {
			p.remark("  failed: %s", short(e.ToolResult.GetOutput(), 200))
		}
	case *wire.StreamEvent_ToolsComplete:
		p.fresh = p.text.Len() > 0
	case *wire.StreamEvent_Queued:
		p.remark("waiting: %d before you", e.Queued.GetPosition()-1)
	case *wire.StreamEvent_Waiting:
		if e.Waiting.GetResolved() == "" {
			p.remark("waiting for approval of %s: %s", e.Waiting.GetTool(), e.Waiting.GetSummary())
		} else {
			p.remark("%s: %s", e.Waiting.GetTool(), e.Waiting.GetResolved())
		}
	case *wire.StreamEvent_Notice:
		p.remark("%s", e.Notice.GetText())
	case *wire.StreamEvent_AskUser:
		p.asked(ctx, e.AskUser)
	}
}

// asked tells the agent that nobody can answer here, so that it goes on.
func (p *plainChat) asked(ctx context.Context, q *wire.AskUser) {
	for _, part := range q.GetQuestions() {
		p.remark("asked: %s", part.GetQuestion())
	}
	err := p.client.ReplyToAsk(ctx, &wire.ReplyToAsk{
		Agent: p.options.agent, Sender: p.options.sender, Thread: p.options.thread, AskId: q.GetAskId(),
		Content: "Nobody is there to answer: this message came from a script. Decide yourself, or say what you would need to know.",
	})
	if err != nil && !errors.Is(err, agentfirst.ErrNotFound) {
		p.remark("the question could not be answered: %s", err)
	}
}

// print streams the reply. On a terminal, words of a model must not steer it.
func (p *plainChat) print(text string) {
	if p.fresh {
		p.fresh = false
		if !strings.HasSuffix(p.text.String(), "\n") {
			text = "\n" + text
		}
	}
	p.text.WriteString(text)
	if p.options.json {
		return
	}
	if onTerminal(p.out) {
		text = visible.Text(text)
	}
	fmt.Fprint(p.out, text)
}

// finish ends the output in good order before an error is told.
func (p *plainChat) finish(err error) error {
	if text := p.text.String(); text != "" && !strings.HasSuffix(text, "\n") && !p.options.json {
		fmt.Fprintln(p.out)
	}
	return err
}

func (p *plainChat) end(end *wire.StreamEnd) error {
	if p.options.json {
		if err := p.object(end); err != nil {
			return err
		}
	}
	if end.GetError() == "" {
		return p.finish(nil)
	}
	code := 1
	if s := end.GetStop(); s == wire.StopCancelled || s == wire.StopKilled {
		code = exitCancelled
	}
	return p.finish(&exitError{code: code, text: visible.Line(end.GetError())})
}

// object prints the whole reply as JSON.
func (p *plainChat) object(end *wire.StreamEnd) error {
	u := end.GetUsage()
	usage := map[string]any{
		"prompt_tokens": u.GetPromptTokens(), "completion_tokens": u.GetCompletionTokens(), "total_tokens": u.GetTotalTokens(), "rounds": u.GetRounds(),
	}
	if u != nil && u.CostMicros != nil {
		usage["cost_micros"] = u.GetCostMicros()
	}
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(map[string]any{
		"agent": end.GetAgent(), "content": p.text.String(), "provider": end.GetProvider(), "model": end.GetModel(), "run_id": p.runID,
		"stop": strings.ToLower(strings.TrimPrefix(end.GetStop().String(), "STOP_REASON_")), "error": end.GetError(), "usage": usage,
	})
}

// short is one line of at most n characters.
func short(s string, n int) string { return fit.Clip(fit.OneLine(s), n) }
