package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/endpoint/control"
	"parley.internal/internal/endpoint/guard"
	"parley.internal/internal/endpoint/tools"
	wire "parley.internal/protocol/kenny"
)

// dispatcher does what a hub asks for, if it may.
type dispatcher struct {
	sw    *control.Switch
	guard *guard.Guard
	tools *tools.Set
	log   *slog.Logger
}

// Policy puts an operator's rules in force.
func (d *dispatcher) Policy(rules []wire.Rule) { d.guard.SetOperator(rules) }

// Call runs one request through all checks, in their order.
func (d *dispatcher) Call(ctx context.Context, req *wire.Request) (jsontext.Value, error) {
	call, err := d.admit(req)
	if err == nil && d.sw.Asks(call.Tool.Class) {
		call, err = d.consented(ctx, req, call)
	}
	if err != nil {
		d.log.Info("call refused", "tool", req.Tool, "call", req.ID, "code", codeOf(err))
		return nil, err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limitOf(call))
	defer cancel()
	result, err := d.within(ctx, call)
	if err != nil {
		d.log.Info("call failed", "tool", req.Tool, "call", req.ID, "code", codeOf(err), "took", time.Since(start))
		return nil, err
	}
	d.log.Debug("call done", "tool", req.Tool, "call", req.ID, "took", time.Since(start))
	return encode(result)
}

// admit checks a request before anything happens.
func (d *dispatcher) admit(req *wire.Request) (tools.Call, error) {
	tool, ok := wire.Lookup(req.Tool)
	if !ok {
		return tools.Call{}, &wire.Error{Code: wire.CodeUnsupported, Message: "this endpoint knows no such tool"}
	}
	args, err := tool.CheckArgs(req.Args)
	if err != nil {
		return tools.Call{}, err
	}
	if err := d.sw.Allows(tool.Class); err != nil {
		return tools.Call{}, err
	}
	if err := d.guard.CheckCall(req.ID, tool.Name, args.Wire()); err != nil {
		return tools.Call{}, err
	}
	return tools.Call{ID: req.ID, Tool: tool, Args: args}, nil
}

// consented asks the person at the machine. A yes overrides nothing: the switch
// and the rules count as they are then.
func (d *dispatcher) consented(ctx context.Context, req *wire.Request, call tools.Call) (tools.Call, error) {
	if err := d.sw.Consent(ctx, req.ID, req.Tool, call.Args.Wire()); err != nil {
		return tools.Call{}, err
	}
	return d.admit(req)
}

// limitOf is how long a call may take: what was asked for, else the tool's.
func limitOf(c tools.Call) time.Duration {
	if c.Tool.TimeoutOnWire() {
		return time.Duration(c.Args.Int("timeout_s")) * time.Second
	}
	return c.Tool.Timeout
}

// endGrace is how long a tool has to end after its deadline: killing a process
// tree takes a moment. What takes longer hangs in the system, where nobody can
// end it; the hub hears of the time-out all the same.
const endGrace = 3 * time.Second

// within waits for the tool, but not forever.
func (d *dispatcher) within(ctx context.Context, call tools.Call) (any, error) {
	type outcome struct {
		result any
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := d.run(ctx, call)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, d.ended(ctx, call, o.err)
	case <-ctx.Done():
	}
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.result, d.ended(ctx, call, o.err)
	case <-timer.C:
		d.log.Error("tool hangs beyond its deadline", "tool", call.Tool.Name, "call", call.ID)
		return nil, d.ended(ctx, call, ctx.Err())
	}
}

// run turns a panic into an answer.
func (d *dispatcher) run(ctx context.Context, call tools.Call) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("tool panicked", "tool", call.Tool.Name, "call", call.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, err = nil, &wire.Error{Code: wire.CodeInternal, Message: "the tool failed unexpectedly"}
		}
	}()
	return d.tools.Run(ctx, call)
}

// ended gives the end of a context the protocol's words.
func (d *dispatcher) ended(ctx context.Context, call tools.Call, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return &wire.Error{Code: wire.CodeTimeout, Message: fmt.Sprintf("%s exceeded %s", call.Tool.Name, limitOf(call))}
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return &wire.Error{Code: wire.CodeExecFailed, Message: "the endpoint stopped during the call"}
	case errors.Is(err, context.DeadlineExceeded):
		return &wire.Error{Code: wire.CodeExecFailed, Message: "a step of the call took too long"}
	}
	return err
}

func codeOf(err error) wire.Code {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Code
	}
	return wire.CodeInternal
}

// encode writes a result without escaping what only browsers mind.
func encode(result any) (jsontext.Value, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return jsontext.Value(bytes.TrimSpace(buf.Bytes())), nil
}
