package kenny

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"

	wire "parley.internal/protocol/kenny"
)

// dispatch starts a request in its own goroutine, if there is room for one
// more.
func (s *session) dispatch(ctx context.Context, req *wire.Request) {
	select {
	case s.c.slots <- struct{}{}:
	default:
		s.refuse(req.ID, wire.CodeExecFailed, fmt.Sprintf("%d calls are under way on this machine already", maxCalls))
		return
	}
	s.c.calls.Go(func() {
		defer func() { <-s.c.slots }()
		result, err := s.c.call(ctx, req)
		s.answer(req, result, err)
	})
}

// call runs the handler; its panic is the call's failure, not ours.
func (c *Client) call(ctx context.Context, req *wire.Request) (result jsontext.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.cfg.Log.Error("handler panicked", "tool", req.Tool, "call", req.ID, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, &wire.Error{Code: wire.CodeInternal, Message: "the tool failed unexpectedly"}
		}
	}()
	return c.cfg.Handler.Call(ctx, req)
}

// answer sends the outcome, as soon as the queue has room.
func (s *session) answer(req *wire.Request, result jsontext.Value, err error) {
	resp := &wire.Response{ID: req.ID, OK: true, Result: result}
	if err != nil {
		resp = &wire.Response{ID: req.ID, Error: s.c.wireError(req, err)}
	}
	data, encodeErr := wire.Encode(resp)
	switch {
	case errors.Is(encodeErr, wire.ErrTooLarge):
		data = failure(req.ID, wire.CodeExecFailed, fmt.Sprintf("the result has %d bytes, at most %d can be sent", len(result), wire.MaxResponse))
	case encodeErr != nil:
		s.c.cfg.Log.Error("answer cannot be encoded", "tool", req.Tool, "call", req.ID, "error", encodeErr)
		data = failure(req.ID, wire.CodeInternal, "the tool gave an answer that cannot be sent")
	}
	if s.send(data) != nil {
		s.c.cfg.Log.Warn("answer dropped: the connection it belongs to is gone", "tool", req.Tool, "call", req.ID)
	}
}

// wireError keeps the protocol's errors and hides the details of others.
func (c *Client) wireError(req *wire.Request, err error) *wire.Error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	c.cfg.Log.Error("call failed", "tool", req.Tool, "call", req.ID, "error", err)
	return &wire.Error{Code: wire.CodeInternal, Message: "the tool failed; the machine's log says why"}
}

// refuse answers without running anything. It must not block the reader: with
// the queue full too, the call times out on the hub.
func (s *session) refuse(id string, code wire.Code, message string) {
	s.offer(&wire.Response{ID: id, Error: &wire.Error{Code: code, Message: message}})
}

// failure encodes an error answer made here, which always fits.
func failure(id string, code wire.Code, message string) []byte {
	data, err := wire.Encode(&wire.Response{ID: id, Error: &wire.Error{Code: code, Message: message}})
	if err != nil {
		panic("kenny: an answer made here does not encode: " + err.Error())
	}
	return data
}
