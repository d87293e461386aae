package agentfirst

import (
	"bufio"
	"context"
	"errors"
	"io"

	wire "parley.internal/protocol/agentfirst"
)

// Export writes a whole conversation as JSONL to w. Extended servers only.
func (c *Client) Export(ctx context.Context, handle string, w io.Writer) error {
	l, err := c.connectExtended(ctx)
	if err != nil {
		return err
	}
	defer c.drop(l)
	req := &wire.ClientMessage{Message: &wire.ClientMessage_Export{Export: &wire.Export{FilePath: handle}}}
	last := func(m *wire.ServerMessage) bool { return m.GetJsonl().GetLast() }
	for m, err := range l.frames(ctx, req, &call{last: last}) {
		if err == nil && m.GetJsonl() == nil {
			err = ErrUnexpectedAnswer
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(m.GetJsonl().GetData()); err != nil {
			return err
		}
	}
	return nil
}

// Import sends a JSONL conversation to the server, piece by piece under one
// request id. The fields of target are sent with every piece: Agent and Sender
// override the file's, Thread and Append say where it goes. Nothing is stored
// when r or the connection breaks off. Extended servers only.
func (c *Client) Import(ctx context.Context, r io.Reader, target *wire.Import) (*wire.ImportResult, error) {
	l, err := c.connectExtended(ctx)
	if err != nil {
		return nil, err
	}
	defer c.drop(l)
	stop := context.AfterFunc(ctx, func() { l.fail(ErrClosed) })
	defer stop()
	answer := &call{last: anyAnswer}
	if err := upload(l, answer, r, target); err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	m, err := answer.next(ctx)
	if err != nil {
		return nil, err
	}
	if m.GetImportResult() == nil {
		return nil, ErrUnexpectedAnswer
	}
	return m.GetImportResult(), nil
}

// upload sends all of r, or as much as the server wants before it answers.
func upload(l *link, answer *call, r io.Reader, target *wire.Import) error {
	in := bufio.NewReader(r)
	buf := make([]byte, wire.JSONLChunk)
	for first := true; ; first = false {
		n, last, err := fill(in, buf)
		if err != nil {
			return err
		}
		piece := &wire.ClientMessage{Message: &wire.ClientMessage_Import{Import: &wire.Import{
			Data: buf[:n], Last: last, Agent: target.GetAgent(), Sender: target.GetSender(),
			Thread: target.GetThread(), Append: target.GetAppend(),
		}}}
		if first {
			err = l.start(answer, piece)
		} else {
			err = l.send(answer.id, piece)
		}
		if err != nil || last || answer.ended() {
			return err
		}
	}
}

// fill reads into buf until it is full or r is at its end, which last tells.
func fill(r *bufio.Reader, buf []byte) (n int, last bool, err error) {
	for n < len(buf) {
		k, err := r.Read(buf[n:])
		n += k
		if errors.Is(err, io.EOF) {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
	}
	_, err = r.Peek(1) // another error than the end will come again with the next read
	return n, errors.Is(err, io.EOF), nil
}
