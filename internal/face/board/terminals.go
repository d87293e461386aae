package board

import (
	"context"
	"errors"
	"io"

	"golang.org/x/time/rate"

	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/terminal"
	"parley.internal/protocol/viber"
)

// newInputLimiter lets a paste through at once and then as much per second.
func newInputLimiter(perSecond int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), max(perSecond, viber.MaxTerminalInput))
}

// terminal answers what is about terminals.
func (r *request) terminal(p viber.Payload) {
	if refused := viber.Refusal(p); refused != nil {
		r.answer(refused)
		return
	}
	switch p := p.(type) {
	case *viber.TerminalList:
		r.listTerminals()
	case *viber.TerminalAttach:
		r.attach(p.TerminalID)
	case *viber.TerminalDetach:
		r.c.detach(p.TerminalID)
		r.answer(&viber.TerminalDetached{TerminalID: p.TerminalID})
	case *viber.TerminalInput:
		r.typed(p)
	case *viber.TerminalResize:
		r.resize(p)
	case *viber.TerminalCreate:
		r.create(p)
	case *viber.TerminalClose:
		r.closeTerminal(p.TerminalID)
	default:
		r.protocol(viber.ReasonUnknownType, "/type", "this message is not for the hub")
	}
}

// terminalWho is who acts, on this very connection.
func (r *request) terminalWho() identity.Actor {
	return r.login.session.On(r.login.id)
}

// refuse answers a request about a terminal that could not be done.
func (r *request) refuse(id string, err error) {
	if errors.Is(err, terminal.ErrStopping) {
		r.answer(viber.NewError(viber.CodeInternalError, viber.ReasonShuttingDown, err.Error()))
		return
	}
	code := terminal.CodeOf(err)
	switch code {
	case "":
		r.internal(err)
	case viber.TerminalLimit, viber.TerminalSpawn:
		r.answer(viber.NewTerminalError(id, code, err.Error()))
	default:
		// Unknown and foreign ones get the same words.
		r.answer(viber.NewTerminalError(id, code, ""))
	}
}

func (r *request) listTerminals() {
	ctx, cancel := r.call()
	defer cancel()
	list, err := r.c.face.d.Terminals.List(ctx, r.terminalWho())
	if err != nil {
		r.internal(err)
		return
	}
	r.answer(&viber.TerminalListResponse{Terminals: list})
}

func (r *request) create(p *viber.TerminalCreate) {
	ctx, cancel := r.act()
	defer cancel()
	info, err := r.c.face.d.Terminals.Create(ctx, r.terminalWho(), terminal.Spec{Name: p.Name, Command: p.Command, Cwd: p.CWD, Size: p.Size()})
	if err != nil {
		r.refuse("", err)
		return
	}
	r.answer(&viber.TerminalCreated{Terminal: info})
	// The creator is told of the exit without looking.
	if err := r.look(info.ID, viewerOptions{created: true}); err != nil {
		r.c.face.log.Warn("a terminal's creator will not learn of its exit", "terminal", info.ID, "error", err)
	}
}

// typed passes on what a person types.
func (r *request) typed(p *viber.TerminalInput) {
	if wait := limit.Spend(r.c.input, len(p.Data)); wait > 0 {
		r.answer(viber.NewTerminalError(p.TerminalID, viber.TerminalLimit, "typing too fast; try again in "+wait.String()))
		return
	}
	ctx, cancel := r.act()
	defer cancel()
	if err := r.c.face.d.Terminals.Input(ctx, r.terminalWho(), p.TerminalID, []byte(p.Data)); err != nil {
		r.refuse(p.TerminalID, err)
	}
}

func (r *request) resize(p *viber.TerminalResize) {
	ctx, cancel := r.act()
	defer cancel()
	size := viber.Size{Rows: p.Rows, Cols: p.Cols}
	var now viber.Size
	var err error
	if v := r.c.viewing(p.TerminalID); v != nil {
		now, err = v.view.Resize(ctx, size)
	} else {
		now, err = r.c.face.d.Terminals.Resize(ctx, r.terminalWho(), p.TerminalID, size)
	}
	if err != nil {
		r.refuse(p.TerminalID, err)
		return
	}
	r.answer(&viber.TerminalResized{TerminalID: p.TerminalID, Rows: now.Rows, Cols: now.Cols})
}

// attach shows a terminal: all of the scrollback, then what is printed. Again on
// the same connection it starts over.
func (r *request) attach(id string) {
	if err := r.look(id, viewerOptions{looks: true, replyTo: r.id}); err != nil {
		r.refuse(id, err)
	}
}

// closeTerminal ends a terminal's process. Its exit is the answer, behind its last
// output; that takes seconds at most, and the lane does not wait for it.
func (r *request) closeTerminal(id string) {
	r.c.work.Go(func() {
		r.guard(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.c.ctx), stopTime)
			defer cancel()
			waits := r.c.awaitExit(id, r.id)
			exit, err := r.c.face.d.Terminals.End(ctx, r.terminalWho(), id)
			switch {
			case err != nil:
				r.c.noExit(id, r.id)
				r.refuse(id, err)
			case !waits:
				r.answer(&exit)
			}
		})
	})
}

// viewer is a terminal a connection looks at, or waits for the exit of.
type viewer struct {
	id      string
	looks   bool
	created bool
	view    terminal.View
	cancel  context.CancelFunc
	done    chan struct{}
	closing []string // requests to close it; the conn's mu guards it
}

type viewerOptions struct {
	looks   bool
	created bool // the connection that made the terminal
	replyTo string
	closing []string
}

// look opens a view and shows it until its end. One that was there before has
// ended by then.
func (r *request) look(id string, o viewerOptions) error {
	c := r.c
	before := c.stopViewing(id)
	if before != nil {
		o.created, o.closing = o.created || before.created, before.closing
	}
	ctx, cancel := r.call()
	defer cancel()
	view, err := c.face.d.Terminals.Attach(ctx, r.terminalWho(), id, terminal.AttachOptions{
		Writer: r.login.session.Scopes.Has(identity.TerminalWrite), ExitOnly: !o.looks,
	})
	if err != nil {
		return err
	}
	v := &viewer{id: id, looks: o.looks, created: o.created, view: view, done: make(chan struct{}), closing: o.closing}
	var run context.Context
	run, v.cancel = context.WithCancel(c.ctx)
	c.mu.Lock()
	if c.viewers == nil {
		c.viewers = map[string]*viewer{}
	}
	c.viewers[id] = v
	c.mu.Unlock()
	c.work.Go(func() {
		defer close(v.done)
		defer view.Close()
		c.guard("", func() { c.watch(run, v, o.replyTo) })
	})
	return nil
}

// watch sends what a view shows. It never has more under way than the client
// reads: a slow one is moved forward by the terminal, not cut.
func (c *conn) watch(ctx context.Context, v *viewer, replyTo string) {
	for {
		if c.room(ctx) != nil {
			return
		}
		event, err := v.view.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, io.EOF):
			c.gone(v)
			return
		case err != nil:
			c.gone(v)
			c.send(viber.NewTerminalError(v.id, viber.TerminalNotFound, ""), "")
			return
		}
		if exit, ok := event.(*viber.TerminalExit); ok {
			c.exited(v, exit)
			continue
		}
		if c.may(identity.TerminalRead) {
			c.send(event, replyTo)
		}
		replyTo = ""
	}
}

// exited tells the end of a process once to each who asked for it, or just once.
func (c *conn) exited(v *viewer, exit *viber.TerminalExit) {
	c.mu.Lock()
	asked := v.closing
	v.closing = nil
	delete(c.viewers, v.id)
	c.mu.Unlock()
	if len(asked) == 0 {
		asked = []string{""}
	}
	for _, id := range asked {
		c.send(exit, id)
	}
}

func (c *conn) gone(v *viewer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.viewers[v.id] == v {
		delete(c.viewers, v.id)
	}
}

// viewing is the view a connection has of a terminal, if it looks.
func (c *conn) viewing(id string) *viewer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.viewers[id]; v != nil && v.looks {
		return v
	}
	return nil
}

// stopViewing ends a view and waits for it: nothing of it comes after.
func (c *conn) stopViewing(id string) *viewer {
	c.mu.Lock()
	v := c.viewers[id]
	delete(c.viewers, id)
	c.mu.Unlock()
	if v != nil {
		v.cancel()
		<-v.done
	}
	return v
}

// detach stops looking. Whoever made the terminal is still told of its exit.
func (c *conn) detach(id string) {
	if c.viewing(id) == nil {
		return
	}
	v := c.stopViewing(id)
	if v == nil || !v.created && len(v.closing) == 0 {
		return
	}
	r := &request{c: c, login: c.who()}
	if err := r.look(id, viewerOptions{created: v.created, closing: v.closing}); err != nil && !errors.Is(err, terminal.ErrNotFound) {
		c.face.log.Warn("a terminal's creator will not learn of its exit", "terminal", id, "error", err)
	}
}

// awaitExit has the exit that a view will show answer a request too; false if
// there is no view.
func (c *conn) awaitExit(id, request string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.viewers[id]
	if v != nil {
		v.closing = append(v.closing, request)
	}
	return v != nil
}

// noExit takes that back.
func (c *conn) noExit(id, request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.viewers[id]
	if v == nil {
		return
	}
	for i, waiting := range v.closing {
		if waiting == request {
			v.closing = append(v.closing[:i:i], v.closing[i+1:]...)
			return
		}
	}
}
