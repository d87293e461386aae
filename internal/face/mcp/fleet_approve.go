package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/visible"
)

// clientApprover asks the person at the client.
type clientApprover struct {
	ctx  context.Context // the request's: it knows the stream to ask on
	call *Call
}

// approver asks in the client where that can be done, else in the inbox.
func (t fleetTools) approver(ctx context.Context, c *Call) call.Approver {
	if t.options.InboxOnly || !c.CanConfirm() {
		return nil
	}
	return clientApprover{ctx, c}
}

// Approve implements fleet.Approver.
func (a clientApprover) Approve(ctx context.Context, q call.Question) (call.Decision, error) {
	text, whole := shown(q)
	if !whole {
		return call.Decision{}, call.ErrAskInbox
	}
	asking, cancel := context.WithCancel(a.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	yes, err := a.call.Confirm(asking, text, binding(q))
	if wrong, ok := errors.AsType[*Error](err); ok {
		err = &fault.Error{Code: fault.Code(wrong.Code), Message: wrong.Message}
	}
	if err != nil {
		return call.Decision{}, err
	}
	return call.Decision{Approved: yes, By: a.call.Who.String(), How: "elicitation"}, nil
}

// binding is what a yes is for, and nothing else.
func binding(q call.Question) []byte {
	text, _ := json.Marshal([]any{q.Tool, q.Machines, q.Digest}) // strings: cannot fail
	return text
}

// maxShown is how many characters a question in a client may have. Nobody knows how
// much of a text a client shows, so what is longer is asked in the inbox, which shows
// all of it.
const maxShown = 4000

// shown is the question: which machine, which tool, exactly what, with whatever hides
// written out. It is all of it, or nothing and false.
func shown(q call.Question) (string, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s on %s?\n", q.Tool, strings.Join(q.Machines, ", "))
	var args map[string]json.RawMessage
	if json.Unmarshal(q.Args, &args) != nil {
		fmt.Fprintf(&b, "\n%s\n", q.Args)
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		var text string
		if json.Unmarshal(args[name], &text) != nil {
			text = string(args[name])
		}
		fmt.Fprintf(&b, "\n%s:\n%s\n", name, text)
	}
	text := visible.Text(b.String())
	return text, utf8.RuneCountInString(text) <= maxShown
}

// heartbeat tells a client again and again that its call waits, so that it does
// not give up.
type heartbeat struct {
	ctx    context.Context
	cancel context.CancelFunc
	call   *Call
	every  time.Duration
	work   sync.WaitGroup
}

func newHeartbeat(ctx context.Context, c *Call, every time.Duration) *heartbeat {
	ctx, cancel := context.WithCancel(ctx)
	return &heartbeat{ctx: ctx, cancel: cancel, call: c, every: every}
}

func (h *heartbeat) start(message string) {
	h.call.Progress(h.ctx, message)
	h.work.Go(func() {
		ticker := time.NewTicker(h.every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				h.call.Progress(h.ctx, message)
			case <-h.ctx.Done():
				return
			}
		}
	})
}

// stop waits until nothing more is said: the answer comes last.
func (h *heartbeat) stop() {
	h.cancel()
	h.work.Wait()
}
