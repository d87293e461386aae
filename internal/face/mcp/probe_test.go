package mcp_test

import (
	"context"
	"errors"

	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk"
)

// probe is a toolset whose tools do what tests want to see.
type probe struct {
	// started hears of each call of wait, ended of its end.
	started chan struct{}
	ended   chan error
	ran     chan string // what confirm was allowed to do
	left    chan struct{}
}

func newProbe() *probe {
	return &probe{started: make(chan struct{}, 100), ended: make(chan error, 100), ran: make(chan string, 100), left: make(chan struct{}, 100)}
}

type probeArgs struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

type slot struct{}

func (p *probe) toolset() facemcp.Toolset {
	one := facemcp.Object(facemcp.Required("text", facemcp.Text("some words", 1, 20)), facemcp.Optional("count", facemcp.Integer("how often", 1, 3)))
	none := facemcp.Object()
	tool := func(name, scope string, run func(context.Context, *facemcp.Call, probeArgs) (facemcp.Result, error)) facemcp.Tool {
		t := facemcp.Tool{Name: name, Title: "The " + name, Description: "Does " + name + ".", Scope: scope, Input: none, Run: facemcp.Handle(run)}
		if name == "echo" || name == "remember" || name == "confirm" {
			t.Input = one
		}
		t.Hints.ReadOnly = name == "echo"
		return t
	}
	return facemcp.Toolset{
		Name: "probe", Title: "Probe", Prefix: "probe_", Scopes: []string{identity.Talk, identity.Rooms},
		Tools: []facemcp.Tool{
			tool("echo", identity.Talk, func(_ context.Context, _ *facemcp.Call, in probeArgs) (facemcp.Result, error) {
				return facemcp.Result{Value: map[string]any{"said": in.Text}, Meta: map[string]any{"parley/probe": true}}, nil
			}),
			tool("remember", identity.Talk, p.remember),
			tool("recall", identity.Talk, p.recall),
			tool("wait", identity.Talk, p.wait),
			tool("progress", identity.Talk, p.progress),
			tool("panic", identity.Talk, func(context.Context, *facemcp.Call, probeArgs) (facemcp.Result, error) { panic("ouch") }),
			tool("break", identity.Talk, func(context.Context, *facemcp.Call, probeArgs) (facemcp.Result, error) {
				return facemcp.Result{}, errors.New("the secret cause")
			}),
			tool("busy", identity.Talk, func(context.Context, *facemcp.Call, probeArgs) (facemcp.Result, error) {
				return facemcp.Result{}, talk.ErrBusy
			}),
			tool("picture", identity.Talk, func(context.Context, *facemcp.Call, probeArgs) (facemcp.Result, error) {
				return facemcp.Result{Value: map[string]any{"format": "png"}, Image: []byte("PNG"), ImageType: "image/png"}, nil
			}),
			tool("guarded", identity.Admin, func(context.Context, *facemcp.Call, probeArgs) (facemcp.Result, error) {
				return facemcp.Result{Value: map[string]any{"in": true}}, nil
			}),
			tool("confirm", identity.Talk, p.confirm),
		},
	}
}

func (p *probe) remember(_ context.Context, c *facemcp.Call, in probeArgs) (facemcp.Result, error) {
	if c.Session == nil {
		return facemcp.Result{}, facemcp.Errorf("no_session", "this request stands alone")
	}
	c.Session.Store(slot{}, in.Text)
	c.Session.OnEnd(func() { p.left <- struct{}{} })
	return facemcp.Result{Value: map[string]any{"ok": true}}, nil
}

func (p *probe) recall(_ context.Context, c *facemcp.Call, _ probeArgs) (facemcp.Result, error) {
	if c.Session == nil {
		return facemcp.Result{}, facemcp.Errorf("no_session", "this request stands alone")
	}
	return facemcp.Result{Value: map[string]any{"text": c.Session.Value(slot{})}}, nil
}

// wait goes on until it is cancelled.
func (p *probe) wait(ctx context.Context, _ *facemcp.Call, _ probeArgs) (facemcp.Result, error) {
	p.started <- struct{}{}
	<-ctx.Done()
	p.ended <- ctx.Err()
	return facemcp.Result{}, ctx.Err()
}

func (p *probe) progress(ctx context.Context, c *facemcp.Call, _ probeArgs) (facemcp.Result, error) {
	for _, text := range []string{"first", "second"} {
		c.Progress(ctx, text)
	}
	return facemcp.Result{Value: map[string]any{"ok": true}}, nil
}

func (p *probe) confirm(ctx context.Context, c *facemcp.Call, in probeArgs) (facemcp.Result, error) {
	if !c.CanConfirm() {
		return facemcp.Result{}, facemcp.Errorf("denied", "nobody can be asked")
	}
	yes, err := c.Confirm(ctx, "Really "+in.Text+"?", []byte(in.Text))
	if err != nil {
		return facemcp.Result{}, err
	}
	if !yes {
		return facemcp.Result{}, facemcp.Errorf("denied", "the person said no")
	}
	p.ran <- in.Text
	return facemcp.Result{Value: map[string]any{"did": in.Text}}, nil
}
