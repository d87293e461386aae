package acpbridge

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/agentfirst"
	"parley.internal/client/hubapi"
	"parley.internal/protocol/acp"
	wire "parley.internal/protocol/agentfirst"
)

// maxSessions bounds what one editor may have open.
const maxSessions = 256

// Bridge serves one editor. Its fields are set before Run.
type Bridge struct {
	Agent string
	Talk  *agentfirst.Client
	// Hub answers approvals; nil leaves them to other devices.
	Hub     *hubapi.Client
	Version string

	write sync.Mutex
	out   io.Writer

	mu       sync.Mutex
	sessions map[string]*session
	asked    map[string]chan acp.Message
	next     int
	work     sync.WaitGroup
}

// session is one conversation of the editor's.
type session struct {
	id, dir string
	cancel  context.CancelFunc // of the prompt that runs; nil if none does
}

// Run serves until the input ends.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	b.out, b.sessions, b.asked = out, map[string]*session{}, map[string]chan acp.Message{}
	err := b.lines(ctx, in)
	cancel() // an editor that is gone waits for nothing
	b.work.Wait()
	return err
}

func (b *Bridge) lines(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		if len(line) > 0 {
			b.line(ctx, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > acp.MaxMessage {
			return nil, fmt.Errorf("%w: a line is longer than %d bytes", acp.ErrMessage, acp.MaxMessage)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (b *Bridge) line(ctx context.Context, line []byte) {
	m, err := acp.Decode(line)
	switch {
	case err != nil:
		b.send(acp.Message{ID: jsontext.Value("null"), Error: &acp.Error{Code: acp.CodeInvalidRequest, Message: err.Error()}})
	case m.Answer():
		b.answered(m)
	case !m.Request():
		b.notified(m)
	case m.Method == acp.Prompt || m.Method == acp.LoadSession:
		b.work.Go(func() { b.reply(ctx, m) }) // these take their time; cancel must get past them
	default:
		b.reply(ctx, m)
	}
}

// reply answers a request.
func (b *Bridge) reply(ctx context.Context, m acp.Message) {
	result, err := b.handle(ctx, m)
	out := acp.Message{ID: m.ID}
	if err == nil {
		out.Result, err = acp.Raw(result)
	}
	if err != nil {
		own, ok := errors.AsType[*acp.Error](err)
		if !ok {
			own = &acp.Error{Code: codeOf(err), Message: err.Error()}
		}
		out.Result, out.Error = nil, own
	}
	b.send(out)
}

func codeOf(err error) int {
	if errors.Is(err, agentfirst.ErrUnauthenticated) {
		return acp.CodeAuthRequired
	}
	return acp.CodeInternal
}

func (b *Bridge) handle(ctx context.Context, m acp.Message) (any, error) {
	switch m.Method {
	case acp.Initialize:
		return acp.InitializeResponse{
			Version: acp.Version, Auth: []acp.AuthMethod{}, Info: &acp.Implementation{Name: "parley", Title: b.Agent + " on Parley", Version: b.Version},
			Agent: acp.AgentCapabilities{LoadSession: true, Prompt: acp.PromptCapabilities{Embedded: true}},
		}, nil
	case acp.NewSession:
		return b.begin(m)
	case acp.LoadSession:
		return b.load(ctx, m)
	case acp.Prompt:
		return b.prompt(ctx, m)
	default:
		return nil, &acp.Error{Code: acp.CodeUnknownMethod, Message: "there is no " + strconv.Quote(m.Method) + " here"}
	}
}

// begin opens a session: a thread of its own, which the page and parley chat show too.
func (b *Bridge) begin(m acp.Message) (any, error) {
	req, err := acp.Read[acp.SessionRequest](m.Params)
	if err != nil {
		return nil, err
	}
	s := &session{id: "editor-" + strings.ToLower(rand.Text()[:12]), dir: req.Dir}
	return acp.SessionResponse{Session: s.id}, b.add(s)
}

func (b *Bridge) add(s *session) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sessions) >= maxSessions {
		return &acp.Error{Code: acp.CodeInvalidRequest, Message: fmt.Sprintf("more than %d sessions", maxSessions)}
	}
	b.sessions[s.id] = s
	return nil
}

// load opens a session again and tells what was said in it.
func (b *Bridge) load(ctx context.Context, m acp.Message) (any, error) {
	req, err := acp.Read[acp.SessionRequest](m.Params)
	if err != nil {
		return nil, err
	}
	handle, err := b.handleOf(ctx, req.Session)
	if err != nil {
		return nil, err
	}
	h, err := b.Talk.GetConversationHistory(ctx, &wire.GetConversationHistory{FilePath: handle})
	if err != nil {
		return nil, err
	}
	if err := b.add(&session{id: req.Session, dir: req.Dir}); err != nil {
		return nil, err
	}
	for _, msg := range h.GetMessages() {
		kind := acp.AgentText
		if msg.GetRole() == "user" {
			kind = acp.UserText
		}
		b.tellText(req.Session, kind, msg.GetContent())
	}
	return acp.SessionResponse{}, nil
}

// handleOf finds a conversation of ours by its thread.
func (b *Bridge) handleOf(ctx context.Context, thread string) (string, error) {
	list, err := b.Talk.ListConversations(ctx, b.Agent, "")
	if err != nil {
		return "", err
	}
	for _, c := range list {
		if c.GetThread() == thread && c.GetAgent() == b.Agent && thread != "" {
			return c.GetFilePath(), nil
		}
	}
	return "", &acp.Error{Code: acp.CodeNotFound, Message: "there is no session " + strconv.Quote(thread)}
}

// notified hears of a cancel; other notifications mean nothing here.
func (b *Bridge) notified(m acp.Message) {
	c, err := acp.Read[acp.CancelNotification](m.Params)
	if m.Method != acp.Cancel || err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sessions[c.Session]; s != nil && s.cancel != nil {
		s.cancel()
	}
}

// answered hands an answer to whoever asked.
func (b *Bridge) answered(m acp.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if waits, ok := b.asked[string(m.ID)]; ok {
		delete(b.asked, string(m.ID))
		waits <- m
	}
}

// ask asks the editor and waits for its answer, or until ctx ends.
func (b *Bridge) ask(ctx context.Context, method string, params any) (acp.Message, bool) {
	raw, err := acp.Raw(params)
	if err != nil {
		return acp.Message{}, false
	}
	waits := make(chan acp.Message, 1)
	b.mu.Lock()
	b.next++
	id := strconv.Itoa(b.next)
	b.asked[id] = waits
	b.mu.Unlock()
	b.send(acp.Message{ID: jsontext.Value(id), Method: method, Params: raw})
	select {
	case m := <-waits:
		return m, m.Error == nil
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.asked, id)
		return acp.Message{}, false
	}
}

// send writes one line. An editor that is gone is noticed by the reader.
func (b *Bridge) send(m acp.Message) {
	line, err := acp.Encode(m)
	if err != nil {
		return
	}
	b.write.Lock()
	defer b.write.Unlock()
	_, _ = b.out.Write(line)
}

func (b *Bridge) tell(session string, c acp.Change) {
	raw, err := acp.Raw(acp.SessionUpdate{Session: session, Update: c})
	if err == nil {
		b.send(acp.Message{Method: acp.Update, Params: raw})
	}
}

func (b *Bridge) tellText(session, kind, text string) {
	raw, err := acp.Raw(acp.Block{Type: "text", Text: text})
	if err == nil && text != "" {
		b.tell(session, acp.Change{Kind: kind, Content: raw})
	}
}
