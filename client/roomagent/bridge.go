package roomagent

import (
	"context"
	"encoding/json"
)

// Bridge is an app that shows an agent its own view of things, such as one seat
// of a card game.
type Bridge struct {
	OnView func(func(view json.RawMessage)) (unsubscribe func())
	View   func() json.RawMessage
	OnChat func(func(Chat)) (unsubscribe func())
	Say    func(ctx context.Context, text string) error
}

// BridgeAgent is an agent on a bridge: it sees and talks, nothing else.
type BridgeAgent struct {
	bridge   Bridge
	readOnly bool
}

// FromBridge makes an agent on an app's bridge.
func FromBridge(b Bridge, opts ...Option) *BridgeAgent {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	return &BridgeAgent{bridge: b, readOnly: s.readOnly}
}

// OnView is told every view of the app.
func (a *BridgeAgent) OnView(fn func(json.RawMessage)) (unsubscribe func()) {
	return a.bridge.OnView(fn)
}

// View is the newest view.
func (a *BridgeAgent) View() json.RawMessage { return a.bridge.View() }

// OnChat is told every line.
func (a *BridgeAgent) OnChat(fn func(Chat)) (unsubscribe func()) { return a.bridge.OnChat(fn) }

// CanAct reports whether the agent may talk.
func (a *BridgeAgent) CanAct() bool { return !a.readOnly }

// Say says something.
func (a *BridgeAgent) Say(ctx context.Context, text string) error {
	if a.readOnly {
		return ErrReadOnly
	}
	return a.bridge.Say(ctx, text)
}
