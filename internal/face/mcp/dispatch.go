package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/audit"
)

// middleware sees every request of a path: it follows new sessions, lists only
// what the caller may use, and knows tools by their other names.
func (p *path) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch params := req.GetParams().(type) {
		case *sdk.CallToolParamsRaw:
			if err := p.unwrap(params); err != nil {
				return p.answer(ctx, entry{}, Result{}, err), nil
			}
			if e, ok := p.tools[params.Name]; ok {
				params.Name = e.listed
			}
			ctx, done := p.inSession(ctx, req)
			defer done()
			return next(ctx, method, req)
		case *sdk.InitializeParams:
			result, err := next(ctx, method, req)
			p.began(req, err)
			return result, err
		}
		result, err := next(ctx, method, req)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			p.only(list, req)
		}
		return result, err
	}
}

// inSession ends ctx with the session the request belongs to.
func (p *path) inSession(ctx context.Context, req sdk.Request) (context.Context, func()) {
	s := p.sessionOf(req)
	if s == nil {
		return ctx, func() {}
	}
	if c, ok := callerOf(req.GetExtra()); ok && s.live != nil {
		s.live.Renew(c.who.Expires) // using a token may have moved its end
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// began follows a session that has just begun.
func (p *path) began(req sdk.Request, err error) {
	c, known := callerOf(req.GetExtra())
	if ss, ok := req.GetSession().(*sdk.ServerSession); ok && known && err == nil && ss.ID() != "" {
		p.face.begin(ss, c.who)
	}
}

// sessionOf is the session a request belongs to, or nil.
func (p *path) sessionOf(req sdk.Request) *Session {
	if c, ok := callerOf(req.GetExtra()); ok && c.link != nil {
		return c.link
	}
	ss, ok := req.GetSession().(*sdk.ServerSession)
	if !ok {
		return nil
	}
	p.face.mu.Lock()
	defer p.face.mu.Unlock()
	return p.face.sessions[ss]
}

func (e entry) allowed(c *Call) error {
	if e.May != nil {
		return e.May(c)
	}
	return c.Need(e.Scope)
}

// handler runs a tool for the library.
func (p *path) handler(e entry) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		from, ok := callerOf(req.Extra)
		if !ok {
			return nil, errors.New("mcp: a call without a caller")
		}
		c := &Call{
			Who: from.who, Tool: e.Name, Args: req.Params.Arguments, Session: p.sessionOf(req), Revision: req.ProtocolVersion(),
			face: p.face, req: req,
		}
		if client := req.ClientInfo(); client != nil {
			c.Client = client.Name
			c.Who = c.Who.OverMCP(short(client.Name))
		}
		if len(c.Args) == 0 || string(c.Args) == "null" {
			c.Args = json.RawMessage("{}")
		}
		started := time.Now()
		result, err := p.run(ctx, e, c)
		if question, ok := errors.AsType[*inputRequired](err); ok {
			return question.result(), nil
		}
		p.note(e, c, time.Since(started), err)
		return p.answer(ctx, e, result, err), nil
	}
}

// run checks and calls; a panic is a failure of this call only.
func (p *path) run(ctx context.Context, e entry, c *Call) (result Result, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			p.face.log.ErrorContext(ctx, "panic in a tool", "tool", e.Name, "panic", cause, "stack", string(debug.Stack()))
			result, err = Result{}, Errorf("internal", "something went wrong in the hub; its log has the details")
		}
	}()
	if err := e.allowed(c); err != nil {
		c.refused = true
		return Result{}, err
	}
	args, err := e.check(c.Args)
	if err != nil {
		return Result{}, err
	}
	c.Args = args
	return e.Run(ctx, c)
}

// note records what was done, or tried, unless the part does. A call that the caller
// may not make never reaches the part, so it is always recorded here.
func (p *path) note(e entry, c *Call, took time.Duration, err error) {
	quiet := (e.Audited || e.Hints.ReadOnly) && !c.refused
	if p.face.d.Trail == nil || quiet {
		return
	}
	outcome := ""
	if err != nil {
		text, _ := p.face.explain(err)
		outcome = codeOf(text)
	}
	digest, _ := audit.Digest(c.Args) // checked JSON; a refused call may have none
	detail := map[string]any{"surface": "mcp", "token": c.Who.TokenID, "address": c.Who.Address}
	if c.Client != "" {
		detail["client"] = short(c.Client)
	}
	p.face.d.Trail.Note(audit.Entry{
		Actor: c.Who.String(), Action: audit.MCPCall, Target: e.Name, Outcome: outcome, Duration: took, Digest: digest, Detail: detail,
	})
}

// short keeps a client's idea of its own name from filling the trail.
func short(name string) string {
	const most = 64
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most])
	}
	return name
}

// answer is a result as the protocol has it.
func (p *path) answer(ctx context.Context, e entry, r Result, err error) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Meta: r.Meta}
	if err != nil {
		text, ours := p.face.explain(err)
		if ours {
			p.face.log.ErrorContext(ctx, "a tool failed", "tool", e.Name, "error", err)
		}
		out.IsError, out.Content = true, []sdk.Content{&sdk.TextContent{Text: text}}
		if r.Value != nil {
			out.StructuredContent = r.Value
		}
		return out
	}
	text, err := plainJSON(r.Value)
	if err != nil {
		return p.answer(ctx, e, Result{}, err)
	}
	if len(r.Image) > 0 {
		out.Content = append(out.Content, &sdk.ImageContent{Data: r.Image, MIMEType: r.ImageType})
	}
	out.Content = append(out.Content, &sdk.TextContent{Text: string(text)})
	out.StructuredContent = json.RawMessage(text)
	return out
}

// plainJSON is a value as a model should read it: < is <. The standard encoder writes
// \u003c for the sake of web pages, and so may a machine in what it sent; models copy
// that into scripts and files.
func plainJSON(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsontext.AppendFormat(nil, text, jsontext.PreserveRawStrings(false), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
