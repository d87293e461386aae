package viber

import (
	"context"
	"io"
	"iter"
	"unicode/utf8"

	wire "parley.internal/protocol/viber"
)

// Terminal is a terminal whose output this client follows.
type Terminal struct {
	c  *Client
	id string
	q  *queue[wire.Message]
	// on is where it was attached, shown whether that connection's scrollback has
	// begun; the client's mu guards both.
	on    *link
	shown bool
}

// Terminals lists the terminals there are.
func (c *Client) Terminals(ctx context.Context) ([]wire.Terminal, error) {
	m, err := c.ask(ctx, &wire.TerminalList{}, &request{answers: is[*wire.TerminalListResponse]})
	list, err := answer[*wire.TerminalListResponse](m, err)
	if err != nil {
		return nil, err
	}
	return list.Terminals, nil
}

// OpenTerminal starts a process on a new terminal, without attaching to it.
func (c *Client) OpenTerminal(ctx context.Context, create *wire.TerminalCreate) (*wire.Terminal, error) {
	m, err := c.ask(ctx, create, &request{answers: func(p wire.Payload) bool {
		e, failed := p.(*wire.TerminalError)
		return is[*wire.TerminalCreated](p) || failed && e.TerminalID == ""
	}})
	created, err := answer[*wire.TerminalCreated](m, err)
	if err != nil {
		return nil, err
	}
	return &created.Terminal, nil
}

// CloseTerminal ends a terminal's process and waits for its end.
func (c *Client) CloseTerminal(ctx context.Context, id string) (*wire.TerminalExit, error) {
	m, err := c.ask(ctx, &wire.TerminalClose{TerminalID: id}, &request{answers: about[*wire.TerminalExit](id)})
	return answer[*wire.TerminalExit](m, err)
}

// about recognises an answer of one kind, or an error, about one terminal.
func about[P wire.Payload](id string) func(wire.Payload) bool {
	return func(p wire.Payload) bool {
		return wire.TerminalOf(p) == id && (is[P](p) || is[*wire.TerminalError](p))
	}
}

// Attach follows a terminal: its scrollback, then what it prints.
func (c *Client) Attach(ctx context.Context, id string) (*Terminal, error) {
	t := &Terminal{c: c, id: id, q: newQueue[wire.Message](c.opts.MaxBuffered)}
	p := &wire.TerminalAttach{TerminalID: id}
	l, err := c.reach(ctx, p)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.terminals[id] != nil {
		c.mu.Unlock()
		return nil, ErrFollowed
	}
	t.on = l
	c.terminals[id] = t
	c.mu.Unlock()
	if err := t.attach(ctx, l); err != nil {
		t.giveUp(err)
		return nil, err
	}
	return t, nil
}

// attach asks for the output; the base has no answer to wait for.
func (t *Terminal) attach(ctx context.Context, l *link) error {
	p := &wire.TerminalAttach{TerminalID: t.id}
	if !l.marksAnswers() {
		return l.send(newID(), p)
	}
	_, err := l.do(ctx, p, &request{answers: about[*wire.TerminalAttached](t.id)})
	return err
}

// attachAgain follows the terminal on a new connection. Without the frame that
// says "the scrollback follows", what comes twice could not be told from what is new.
func (t *Terminal) attachAgain(l *link) {
	if !l.marksAnswers() {
		t.giveUp(ErrConnectionLost)
		return
	}
	t.c.mu.Lock()
	t.on, t.shown = l, false
	t.c.mu.Unlock()
	if err := t.attach(t.c.ctx, l); err != nil && l.reason() == nil {
		t.giveUp(err)
	}
}

// ID is the terminal's id.
func (t *Terminal) ID() string { return t.id }

// Events yields what the terminal prints, its size when it changes, and its exit,
// which is last. A [*wire.TerminalAttached] says that all of the scrollback
// follows, from the beginning: clear the screen. A refused input or size is a
// [*wire.TerminalError] among the events.
func (t *Terminal) Events(ctx context.Context) iter.Seq2[wire.Message, error] {
	return stream(ctx, t.q)
}

// Input types: the bytes of the string, nothing added. Long text goes in pieces.
func (t *Terminal) Input(ctx context.Context, data string) error {
	for {
		piece := data[:pieceOf(data)]
		p := &wire.TerminalInput{TerminalID: t.id, Data: piece}
		l, err := t.c.reach(ctx, p)
		if err != nil {
			return err
		}
		if err := l.send(newID(), p); err != nil {
			return err
		}
		if data = data[len(piece):]; data == "" {
			return nil
		}
	}
}

func pieceOf(data string) int {
	if len(data) <= wire.MaxTerminalInput {
		return len(data)
	}
	cut := wire.MaxTerminalInput
	for cut > wire.MaxTerminalInput-utf8.UTFMax && !utf8.RuneStart(data[cut]) {
		cut--
	}
	return cut
}

// Resize tells how large our window is.
func (t *Terminal) Resize(ctx context.Context, rows, cols int) error {
	_, err := t.c.tell(ctx, &wire.TerminalResize{TerminalID: t.id, Rows: rows, Cols: cols}, about[*wire.TerminalResized](t.id))
	return err
}

// Detach stops following the terminal, which lives on.
func (t *Terminal) Detach(ctx context.Context) error {
	_, err := t.c.tell(ctx, &wire.TerminalDetach{TerminalID: t.id}, about[*wire.TerminalDetached](t.id))
	t.giveUp(io.EOF)
	return err
}

func (t *Terminal) giveUp(err error) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.terminals[t.id] == t {
		delete(t.c.terminals, t.id)
	}
	t.q.finish(err)
}

func (c *Client) routeTerminal(m wire.Message, id string, size int) {
	t := c.terminals[id]
	if t == nil {
		return
	}
	switch {
	case is[*wire.TerminalAttached](m.Body):
		t.shown = true
	case is[*wire.TerminalExit](m.Body) && !t.shown && t.on.marksAnswers():
		return // told to whoever opened it; ours comes behind the scrollback
	}
	kept := t.q.put(m, size)
	if is[*wire.TerminalExit](m.Body) {
		t.q.finish(io.EOF)
		kept = false
	}
	if e, ok := m.Body.(*wire.TerminalError); ok && e.Error.Type == wire.TerminalNotFound {
		t.q.finish(refusal(e))
		kept = false
	}
	if !kept {
		delete(c.terminals, id)
	}
}
