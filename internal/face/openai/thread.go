package openai

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
	wire "parley.internal/protocol/openai"
)

// chatHeader is how clients that cannot change the body name a conversation.
const chatHeader = "X-Chat-Id"

// maxForks is how many conversations that share a name are looked through.
const maxForks = 64

// place is where a request belongs.
type place struct {
	f   *Face
	who identity.Actor
	key talk.Key
	// base is the conversation's name before any fork; named says that the client gave it.
	base    string
	named   bool
	history []wire.Turn
}

// place finds the conversation of a request, making it from the client's history if need be.
func (f *Face) place(ctx context.Context, who identity.Actor, header http.Header, req *wire.Request) (*place, error) {
	p := &place{f: f, who: who, key: talk.Key{Agent: req.Model}}
	p.history, _ = req.Split()
	if req.Previous != "" {
		return p, p.follow(ctx, req.Previous)
	}
	p.base, p.named = threadOf(header, req)
	return p, p.find(ctx)
}

// threadOf is the name of a request's conversation: what the client calls it, else how it begins.
func threadOf(header http.Header, req *wire.Request) (name string, named bool) {
	for _, name := range []string{req.Thread, header.Get(chatHeader)} {
		if name == "" {
			continue
		}
		if len(name) > agentfirst.MaxThread-16 || agentfirst.CheckThread(name) != nil {
			return hashed(name), true
		}
		return name, true
	}
	for _, t := range req.Turns {
		if t.Role == wire.User {
			return hashed(t.Text), false
		}
	}
	return hashed(""), false
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "v1-" + hex.EncodeToString(sum[:8])
}

// find decides between going on and forking.
func (p *place) find(ctx context.Context) error {
	said := stepsOf(p.history)
	if at, ok := p.remembered(ctx, said); ok {
		p.key.Thread = at
		return nil
	}
	p.key.Thread = p.base
	info, err := p.f.d.Talk.Find(ctx, p.who, p.key)
	switch {
	case errors.Is(err, talk.ErrNotFound), err == nil && info.LastSeq == 0:
		if len(p.history) == 0 {
			return nil // a new one: the turn makes it
		}
		return p.bring(ctx)
	case err != nil:
		return err
	case p.named && len(said) == 0:
		return nil // whoever brings no history leaves it to the hub
	}
	candidates, err := p.candidates(ctx, info)
	if err != nil {
		return err
	}
	for _, c := range candidates {
		ok, err := p.continues(ctx, c, said)
		if err != nil {
			return err
		}
		if ok {
			p.key.Thread = c.Thread
			return nil
		}
	}
	return p.fork(ctx)
}

// candidates are the conversation of the name itself and its forks, newest first.
func (p *place) candidates(ctx context.Context, first talk.Info) ([]talk.Info, error) {
	all, err := p.f.d.Talk.List(ctx, p.who, talk.Filter{Agent: first.Agent, Sender: first.Sender})
	if err != nil {
		return nil, err
	}
	forks := slices.DeleteFunc(all, func(c talk.Info) bool { return !strings.HasPrefix(c.Thread, p.base+forkMark) })
	return append([]talk.Info{first}, forks[:min(len(forks), maxForks)]...), nil
}

// continues tells whether a client's history is that of a conversation. Of one that the client named,
// the end will do: many clients send only so much.
func (p *place) continues(ctx context.Context, c talk.Info, said steps) (bool, error) {
	h, err := p.f.d.Talk.History(ctx, p.who, c.ID, talk.HistoryRequest{Archived: true})
	if err != nil {
		return false, err
	}
	return said.endOf(storedSteps(h.Messages), !p.named && !h.Truncated), nil
}

const forkMark = "~"

// fork makes a conversation of its own from the client's history.
func (p *place) fork(ctx context.Context) error {
	p.key.Thread = p.base + forkMark + strings.ToLower(rand.Text()[:8])
	if len(p.history) == 0 {
		return nil
	}
	return p.bring(ctx)
}

// bring puts the client's history into a new conversation. It is what the client says was said:
// results of tools are strangers' words in it, and nothing in it is an instruction of the agent's.
func (p *place) bring(ctx context.Context) error {
	var file bytes.Buffer
	enc := agentfirst.NewExportEncoder(&file)
	errs := []error{enc.Meta(agentfirst.ExportMeta{Agent: p.key.Agent, CreatedBy: p.sender(), CreatedAt: time.Now()})}
	for _, t := range p.history {
		errs = append(errs, enc.Message(exported(t)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := p.f.d.Talk.Import(ctx, p.who, &file, memory.ImportOptions{Agent: p.key.Agent, Sender: p.sender(), Thread: p.key.Thread})
	return err
}

func (p *place) sender() string { return agentfirst.SenderOr(p.key.Sender, p.who.OwnSender()) }

func exported(t wire.Turn) agentfirst.ExportMessage {
	out := agentfirst.ExportMessage{Role: string(t.Role), Content: t.Text}
	if t.Role == wire.Tool {
		out.Role, out.ToolCallID, out.Content = string(model.Tool), t.CallID, tool.Wrap("client tool", t.Text)
	}
	for _, c := range t.Calls {
		out.ToolCalls = append(out.ToolCalls, agentfirst.ExportToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// hasResults tells whether results of tools are among what is brought along.
func hasResults(turns []wire.Turn) bool {
	return slices.ContainsFunc(turns, func(t wire.Turn) bool { return t.Role == wire.Tool })
}

// remembered is the shortcut: this history was the client's when the conversation last ended.
func (p *place) remembered(ctx context.Context, said steps) (string, bool) {
	if len(said) == 0 {
		return "", false
	}
	at, ok := p.f.states.get(p.stateKey(said))
	if !ok {
		return "", false
	}
	key := p.key
	key.Thread = at.thread
	info, err := p.f.d.Talk.Find(ctx, p.who, key)
	return at.thread, err == nil && info.LastSeq == at.seq
}

func (p *place) stateKey(said steps) string {
	return strings.Join([]string{p.who.Person.ID, p.key.Agent, p.base, said.digest()}, "\x00")
}

// remember says what the client's history will be next time.
func (p *place) remember(req *wire.Request, answer string, seq int64) {
	if p.base == "" {
		return
	}
	said := stepsOf(req.Turns)
	said.add(string(wire.Assistant), answer)
	p.f.states.put(p.stateKey(said), state{p.key.Thread, seq})
}

// responseID names an answer so that the next request can follow it, on any hub and after any restart:
// where its words begin, its run, and its conversation. It opens nothing: the conversation
// is looked up as the caller's own.
func responseID(start int64, run, thread string) string {
	return "resp_" + base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(start, 10)+" "+run+" "+thread))
}

func readResponseID(id string) (start int64, run, thread string, ok bool) {
	text, isID := strings.CutPrefix(id, "resp_")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(raw), " ", 3)
	if !isID || err != nil || len(parts) != 3 {
		return 0, "", "", false
	}
	start, err = strconv.ParseInt(parts[0], 10, 64)
	return start, parts[1], parts[2], err == nil
}

// follow goes on after an answer. If the conversation has gone further since, it forks there.
func (p *place) follow(ctx context.Context, id string) error {
	unknown := wire.NewError(http.StatusNotFound, "previous_response_not_found", "there is no answer "+strconv.Quote(id)+" of this agent in your conversations")
	unknown.Param = "previous_response_id"
	start, run, thread, ok := readResponseID(id)
	if !ok || agentfirst.CheckThread(thread) != nil {
		return unknown
	}
	p.key.Thread = thread
	info, err := p.f.d.Talk.Find(ctx, p.who, p.key)
	if errors.Is(err, talk.ErrNotFound) {
		return unknown
	}
	if err != nil {
		return err
	}
	h, err := p.f.d.Talk.History(ctx, p.who, info.ID, talk.HistoryRequest{Limit: 1, Archived: true})
	if err != nil {
		return err
	}
	if last := h.Messages; len(last) == 0 || last[0].Run == run || last[0].Seq <= start {
		return nil
	}
	if h, err = p.f.d.Talk.History(ctx, p.who, info.ID, talk.HistoryRequest{Archived: true}); err != nil {
		return err
	}
	p.base, _, _ = strings.Cut(thread, forkMark)
	p.history = append(upTo(h.Messages, start, run), p.history...)
	return p.fork(ctx)
}

// upTo is what was said until a run had ended.
func upTo(msgs []memory.Message, start int64, run string) (turns []wire.Turn) {
	for _, m := range msgs {
		if m.Seq > start && m.Run != run {
			break
		}
		turns = append(turns, wire.Turn{Role: wire.Role(m.Role), Text: m.Text})
	}
	return turns
}
