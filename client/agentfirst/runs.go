package agentfirst

import (
	"context"
	"errors"
	"io"
	"iter"

	wire "parley.internal/protocol/agentfirst"
)

// Send says something to an agent and waits for the whole reply.
func (c *Client) Send(ctx context.Context, turn *wire.Turn) (*wire.Response, error) {
	req := &wire.ClientMessage{Message: &wire.ClientMessage_Send{Send: turn}}
	// The server may tell about the queue before it answers.
	answered := func(m *wire.ServerMessage) bool { return m.GetStream() == nil }
	var reply *wire.Response
	for m, err := range c.frames(ctx, req, &call{turn: turn, last: answered}) {
		if err != nil {
			return nil, err
		}
		reply = m.GetResponse()
	}
	if reply == nil {
		return nil, ErrUnexpectedAnswer
	}
	return reply, nil
}

// Stream says something to an agent and yields the steps of the run: start
// first, end last. A run that fails after its start says so in its end event
// (EndError); an error from the iterator means that there was no run, or that we
// lost sight of it, and nothing follows it.
func (c *Client) Stream(ctx context.Context, turn *wire.Turn) iter.Seq2[*wire.StreamEvent, error] {
	req := &wire.ClientMessage{Message: &wire.ClientMessage_Stream{Stream: turn}}
	ended := func(m *wire.ServerMessage) bool { return m.GetStream().GetEnd() != nil }
	return func(yield func(*wire.StreamEvent, error) bool) {
		for m, err := range c.frames(ctx, req, &call{turn: turn, stream: true, last: ended}) {
			if err == nil && m.GetStream() == nil {
				err = ErrUnexpectedAnswer
			}
			if !yield(m.GetStream(), err) || err != nil {
				return
			}
		}
	}
}

// frames sends a request on a borrowed connection and yields all of its answer.
func (c *Client) frames(ctx context.Context, req *wire.ClientMessage, answer *call) iter.Seq2[*wire.ServerMessage, error] {
	return func(yield func(*wire.ServerMessage, error) bool) {
		l, err := c.borrow(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.giveBack(l)
		for m, err := range l.frames(ctx, req, answer) {
			if !yield(m, err) {
				return
			}
		}
	}
}

// frames sends a request and yields all of its answer. It may be ranged over once.
func (l *link) frames(ctx context.Context, req *wire.ClientMessage, answer *call) iter.Seq2[*wire.ServerMessage, error] {
	return func(yield func(*wire.ServerMessage, error) bool) {
		if err := l.knows(req); err != nil {
			yield(nil, err)
			return
		}
		if err := l.start(answer, req); err != nil {
			yield(nil, err)
			return
		}
		defer answer.leave()
		for {
			m, err := answer.next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if errors.Is(err, ErrLagged) {
				answer.letRun()
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}
