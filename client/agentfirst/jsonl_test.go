package agentfirst_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	client "parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

func TestExportJoinsThePieces(t *testing.T) {
	whole := strings.Repeat("0123456789", 100_000)
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		m := c.recv()
		if m.GetExport().GetFilePath() != "conversation:x" {
			return
		}
		for rest := whole; rest != ""; {
			n := min(len(rest), 70_001)
			c.send(m, &wire.ServerMessage{Message: &wire.ServerMessage_Jsonl{Jsonl: &wire.Jsonl{Data: []byte(rest[:n]), Last: n == len(rest)}}})
			rest = rest[n:]
		}
		c.recv()
	}}
	// Far less may be buffered than is sent: a slow writer slows the server down.
	c := dialFake(t, s, client.Options{MaxBuffered: 100_000})
	var got bytes.Buffer
	if err := c.Export(t.Context(), "conversation:x", &got); err != nil || got.String() != whole {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
}

func TestAnExportThatBreaksOffIsAnError(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		if m := c.recv(); m != nil {
			c.send(m, &wire.ServerMessage{Message: &wire.ServerMessage_Jsonl{Jsonl: &wire.Jsonl{Data: []byte("{}")}}})
		}
	}}
	c := dialFake(t, s, client.Options{})
	if err := c.Export(t.Context(), "conversation:x", io.Discard); !errors.Is(err, client.ErrConnectionLost) {
		t.Error(err)
	}
	full := errors.New("disk full")
	if err := c.Export(t.Context(), "conversation:x", failingWriter{full}); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// importing joins the pieces of an import and answers the last one.
func importing(whole chan<- string) func(*fakeConn) {
	return func(c *fakeConn) {
		c.hello()
		var got []byte
		var id uint64
		for m := c.recv(); m != nil; m = c.recv() {
			piece := m.GetImport()
			same := id == 0 || id == m.GetRequestId()
			id = m.GetRequestId()
			if !same || id == 0 || piece.GetAgent() != "a" || piece.GetThread() != "t" || !piece.GetAppend() {
				c.send(m, wire.NewError(400, m.String()))
				return
			}
			got = append(got, piece.GetData()...)
			if piece.GetLast() {
				whole <- string(got)
				c.send(m, &wire.ServerMessage{Message: &wire.ServerMessage_ImportResult{ImportResult: &wire.ImportResult{Messages: 3}}})
			}
		}
	}
}

func TestImportSendsPiecesOfAnySize(t *testing.T) {
	for _, size := range []int{0, 1, wire.JSONLChunk - 1, wire.JSONLChunk, wire.JSONLChunk + 1, 3*wire.JSONLChunk + 7} {
		whole := make(chan string, 1)
		c := dialFake(t, &fakeServer{handle: importing(whole)}, client.Options{})
		in := strings.Repeat("x", size)
		res, err := c.Import(t.Context(), iotest.HalfReader(strings.NewReader(in)), &wire.Import{Agent: "a", Thread: "t", Append: true})
		if err != nil || res.GetMessages() != 3 {
			t.Fatalf("%d: %v; want no error, res.GetMessages() to be 3", size, err)
		}
		if got := <-whole; got != in {
			t.Errorf("%d: %d bytes arrived", size, len(got))
		}
	}
}

func TestAnImportThatCannotBeReadIsNotFinished(t *testing.T) {
	whole := make(chan string, 1)
	c := dialFake(t, &fakeServer{handle: importing(whole)}, client.Options{})
	// A reader's own unexpected end is an error too, not the end.
	in := io.MultiReader(strings.NewReader(strings.Repeat("x", 2*wire.JSONLChunk)), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := c.Import(t.Context(), in, &wire.Import{Agent: "a", Thread: "t", Append: true}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if len(whole) != 0 {
		t.Error("the server thinks it has all")
	}
}

func TestARefusedImportStopsSending(t *testing.T) {
	s := &fakeServer{handle: func(c *fakeConn) {
		c.hello()
		if m := c.recv(); m != nil {
			c.send(m, wire.NewError(409, "it has messages"))
			for c.recv() != nil {
			}
		}
	}}
	c := dialFake(t, s, client.Options{})
	endless := io.LimitReader(zeros{}, 1<<40)
	if _, err := c.Import(t.Context(), endless, &wire.Import{Agent: "a"}); !errors.Is(err, client.ErrConflict) {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
