package mcp

import (
	"context"
	"encoding/json"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley.internal/internal/identity"
)

// Call is one call of a tool.
type Call struct {
	// Who calls, with the scopes of this very request.
	Who identity.Actor
	// Tool is the name on the part's own path.
	Tool string
	// Args are the arguments, checked.
	Args json.RawMessage
	// Session is the client's session; nil if this request stands alone.
	Session *Session
	// Revision is the protocol revision the client speaks.
	Revision string
	// Client names the client's program, if it does.
	Client string

	face *Face
	req  *sdk.CallToolRequest
	sent atomic.Int64 // progress so far: it must grow
	// refused tells that the caller may not use the tool at all.
	refused bool
}

// Progress tells a client that asked for it that the call is still under way.
func (c *Call) Progress(ctx context.Context, message string) {
	if c.req == nil || c.req.Params.GetProgressToken() == nil {
		return
	}
	err := c.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		ProgressToken: c.req.Params.GetProgressToken(), Progress: float64(c.sent.Add(1)), Message: message,
	})
	if err != nil {
		c.face.log.DebugContext(ctx, "progress could not be told", "tool", c.Tool, "error", err)
	}
}

// Need fails unless the caller has the scope.
func (c *Call) Need(scope string) error {
	if scope == "" || c.Who.Scopes.Has(scope) {
		return nil
	}
	return Errorf("forbidden", "this needs the scope %s", scope)
}

// callerOf is who made a request; the HTTP side put it there.
func callerOf(extra *sdk.RequestExtra) (caller, bool) {
	if extra == nil || extra.TokenInfo == nil {
		return caller{}, false
	}
	c, ok := extra.TokenInfo.Extra[callerKey].(caller)
	return c, ok
}
