package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/internal/bus"
	"parley/internal/ids"
	"parley/internal/talk/memory"
)

// What one hub asks another about a conversation the other owns.
const (
	ctlWake     = "wake" // a turn waits in the store
	ctlCancel   = "cancel"
	ctlKill     = "kill"
	ctlLeave    = "leave"
	ctlReply    = "reply"
	ctlCompact  = "compact"
	ctlDelete   = "delete"
	ctlStale    = "stale"    // somebody else wrote to it
	ctlSnapshot = "snapshot" // what is going on
	ctlMore     = "more"     // the rest of a long snapshot
)

type controlArgs struct {
	Run     string `json:"run,omitempty"`
	Ask     string `json:"ask,omitempty"`
	Content string `json:"content,omitempty"`
	Offset  int    `json:"offset,omitempty"`
}

// controlRequest comes from a hub of this cluster, which has checked whether whoever
// asks may: the bus takes nothing from anybody else.
type controlRequest struct {
	ID string `json:"id"`
	Op string `json:"op"`
	controlArgs
}

type controlAnswer struct {
	// Error is one of the names in controlErrors; Text is for people.
	Error string `json:"error,omitempty"`
	Text  string `json:"text,omitempty"`

	Join    string          `json:"join,omitempty"`
	Replay  bool            `json:"replay,omitempty"`
	Archive *memory.Archive `json:"archive,omitempty"`
	// Data is a piece of a snapshot, Total its whole length.
	Data  []byte `json:"data,omitempty"`
	Total int    `json:"total,omitempty"`
	Token string `json:"token,omitempty"`
}

// controlErrors are the errors that mean the same on every hub.
var controlErrors = map[string]error{
	"not_active": ErrNotActive, "no_question": ErrNoQuestion, "not_found": ErrNotFound, "nothing": ErrNothing,
	"queue_full": ErrQueueFull, "summary": ErrSummary, "unavailable": ErrUnavailable, "moved": errMoved, "busy": ErrBusy,
}

func (a controlAnswer) err() error {
	if a.Error == "" {
		return nil
	}
	base := controlErrors[a.Error]
	if base == nil {
		return errors.New(a.Text)
	}
	if a.Text == "" || a.Text == base.Error() {
		return base
	}
	return &remoteError{base, a.Text}
}

// remoteError keeps both what an error means and how another hub put it.
type remoteError struct {
	base error
	text string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.base }

func failed(err error) controlAnswer {
	if errors.Is(err, errGone) {
		err = errMoved
	}
	for name, base := range controlErrors {
		if errors.Is(err, base) {
			return controlAnswer{Error: name, Text: err.Error()}
		}
	}
	return controlAnswer{Error: "internal", Text: err.Error()}
}

// control asks the owner of a conversation, if there is one, to do something.
func (cl *cluster) control(ctx context.Context, id, op string, args controlArgs) error {
	if !cl.t.d.Clustered {
		return ErrNotActive
	}
	owner, err := cl.t.d.Leases.Owner(ctx, memory.LeaseName(id))
	if err != nil {
		return err
	}
	if owner == "" || owner == cl.t.hub {
		return ErrNotActive
	}
	_, err = cl.ask(ctx, owner, id, op, args)
	if errors.Is(err, errMoved) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// ask sends a request to a hub and reads its answer.
func (cl *cluster) ask(ctx context.Context, owner, id, op string, args controlArgs) (answer controlAnswer, err error) {
	if op != ctlCompact {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, controlTimeout)
		defer cancel()
	}
	data, err := json.Marshal(controlRequest{ID: id, Op: op, controlArgs: args})
	if err != nil {
		return answer, err
	}
	raw, err := cl.t.d.Bus.Request(ctx, hubSubject(owner), data)
	switch {
	case errors.Is(err, bus.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		return answer, errMoved
	case err != nil:
		return answer, err
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return answer, err
	}
	return answer, answer.err()
}

func (cl *cluster) forwardCompact(ctx context.Context, owner, id, focus string) (memory.Archive, error) {
	if !cl.t.d.Clustered {
		return memory.Archive{}, errMoved
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	answer, err := cl.ask(ctx, owner, id, ctlCompact, controlArgs{Content: focus})
	if err != nil || answer.Archive == nil {
		return memory.Archive{}, err
	}
	return *answer.Archive, nil
}

// request answers another hub. Each answer has its own goroutine: one that takes
// long delays nobody.
func (cl *cluster) request(m bus.Msg) {
	var req controlRequest
	if m.Respond == nil || json.Unmarshal(m.Data, &req) != nil {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.closed {
		return
	}
	cl.answering.Go(func() {
		answer, err := cl.answer(req)
		if err != nil {
			answer = failed(err)
		}
		raw, err := json.Marshal(answer)
		if err == nil {
			err = m.Respond(raw)
		}
		if err != nil {
			cl.t.d.Log.Warn("cannot answer another hub", "error", err)
		}
	})
}

func (cl *cluster) answer(req controlRequest) (answer controlAnswer, err error) {
	ctx, cancel := context.WithTimeout(cl.t.ctx, 30*time.Minute)
	defer cancel()
	if req.Op == ctlMore {
		return cl.more(req.Run, req.Offset)
	}
	c := cl.t.loaded(req.ID)
	if c == nil {
		if req.Op == ctlWake || req.Op == ctlSnapshot || req.Op == ctlCompact {
			return answer, errMoved
		}
		return answer, ErrNotActive
	}
	switch req.Op {
	case ctlWake:
		return c.woken(ctx, req.Run)
	case ctlSnapshot:
		return cl.snapshot(c.feed)
	case ctlCompact:
		a, err := c.compact(ctx, req.Content)
		answer.Archive = &a
		return answer, err
	case ctlCancel:
		err = c.cancelTurn(ctx, req.Run)
	case ctlKill:
		err = c.kill(ctx)
	case ctlLeave:
		c.leave(req.Run)
	case ctlReply:
		err = c.reply(req.Ask, req.Content)
	case ctlDelete:
		err = c.remove(ctx)
	case ctlStale:
		err = cl.t.changed(ctx, req.ID)
	}
	return answer, err
}

// woken takes a turn from the store that another hub put there.
func (c *conversation) woken(ctx context.Context, run string) (answer controlAnswer, err error) {
	w, err := c.t.d.Memory.GetWaiting(ctx, run)
	if errors.Is(err, memory.ErrNotFound) {
		return answer, nil // begun already
	}
	if err != nil {
		return answer, err
	}
	tn := &turn{id: w.Run, durable: true, followers: 1}
	if err := json.Unmarshal(w.Order, &tn.order); err != nil {
		return answer, err
	}
	accepted := make(chan acceptance, 1)
	tn.accepted = accepted
	err = c.do(ctx, func() {
		if c.has(run) {
			tn.accept(acceptance{})
			return
		}
		c.accept(tn)
	})
	if err != nil {
		return answer, err
	}
	select {
	case a := <-accepted:
		answer.Join, answer.Replay = a.join, a.replay != nil
		if a.replay != nil {
			answer.Join = a.replay.ID
		}
		return answer, a.err
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
}

// snapshot gives another hub what it needs to follow from here on.
func (cl *cluster) snapshot(f *feed) (controlAnswer, error) {
	f.mu.Lock()
	f.barrier = true
	s := snapshot{At: f.at, Text: f.now.text.String()}
	s.Now.Seq, s.Now.Start, s.Now.Segment, s.Now.Open, s.Now.Waiting = f.now.Seq, f.now.Start, f.now.Segment, f.now.Open, f.now.Waiting
	raw, err := json.Marshal(&s)
	f.mu.Unlock()
	if err != nil {
		return controlAnswer{}, err
	}
	token := ""
	if len(raw) > pieceSize {
		token = ids.New()
		cl.mu.Lock()
		cl.snapshots[token] = raw
		cl.mu.Unlock()
		time.AfterFunc(time.Minute, func() {
			cl.mu.Lock()
			defer cl.mu.Unlock()
			delete(cl.snapshots, token)
		})
	}
	return piece(raw, 0, token), nil
}

func (cl *cluster) more(token string, offset int) (controlAnswer, error) {
	cl.mu.Lock()
	raw := cl.snapshots[token]
	cl.mu.Unlock()
	if offset < 0 || offset > len(raw) || raw == nil {
		return controlAnswer{}, errMoved
	}
	return piece(raw, offset, token), nil
}

func piece(raw []byte, offset int, token string) controlAnswer {
	end := min(offset+pieceSize, len(raw))
	return controlAnswer{Data: raw[offset:end], Total: len(raw), Token: token}
}

// snapshotOf asks the owner for a snapshot, in as many pieces as it has.
func (cl *cluster) snapshotOf(ctx context.Context, owner, id string) (s snapshot, err error) {
	answer, err := cl.ask(ctx, owner, id, ctlSnapshot, controlArgs{})
	raw := answer.Data
	for err == nil && len(raw) < answer.Total {
		answer, err = cl.ask(ctx, owner, id, ctlMore, controlArgs{Run: answer.Token, Offset: len(raw)})
		raw = append(raw, answer.Data...)
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(raw, &s)
}
