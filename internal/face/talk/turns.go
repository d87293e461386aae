package talk

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley.internal/internal/talk"
	"parley.internal/internal/talk/memory"
	wire "parley.internal/protocol/agentfirst"
)

// acceptTime bounds how long a turn may take to become durable. It does not end
// with the connection: what a client said before it left is not lost.
const acceptTime = 30 * time.Second

func turnRequest(t *wire.Turn, whole bool) talk.TurnRequest {
	var digests []string
	for _, f := range t.GetFiles() {
		digests = append(digests, f.GetDigest())
	}
	return talk.TurnRequest{
		Files:   digests,
		Key:     talk.Key{Agent: t.GetAgent(), Sender: t.GetSender(), Thread: t.GetThread()},
		Content: t.GetContent(), Guest: t.GetGuest(), Cwd: t.GetCwd(), Mode: talk.Mode(t.GetMode()),
		Detached: t.GetDetached(), IdempotencyKey: t.GetKey(), NoStream: whole,
	}
}

// begin has a turn accepted. A client that has left meanwhile still said it.
func (r *request) begin(t *wire.Turn, whole bool) (*talk.Run, error) {
	if m := t.GetMode(); m < wire.ModeQueue || m > wire.ModeInterrupt {
		return nil, bad("unknown mode %d", m)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.c.ctx), acceptTime)
	defer cancel()
	req := turnRequest(t, whole)
	req.Left = r.c.ctx.Err() != nil
	return r.c.face.d.Talk.Turn(ctx, r.who, req)
}

// streamTurn gives a run's events as they come: they are encoded and sent where they
// happen, since sending never waits.
func (r *request) streamTurn() error {
	run, err := r.begin(r.msg.GetStream(), false)
	if err != nil {
		return err
	}
	defer run.Leave()
	if err := run.Tell(r.c.ctx, r.streamed); err != nil {
		return r.lost(err)
	}
	return nil
}

// streamed is stream on the goroutine of whoever runs the turn, which a mistake of
// ours must not end.
func (r *request) streamed(ev talk.Event) {
	defer func() {
		if cause := recover(); cause != nil {
			r.fail(panicked(cause))
		}
	}()
	r.stream(ev)
}

// stream sends one event of a run.
func (r *request) stream(ev talk.Event) {
	if r.run != ev.Run || r.key == "" {
		r.run, r.key = ev.Run, ev.Run+"/"
	}
	if ev.Kind == talk.Chunk {
		// Nearly all of them; every client knows these.
		if payload, ok := wire.ChunkPayload(r.id, ev.Text); ok {
			r.c.link.send(payload, r.key, true)
			return
		}
	}
	if ev.Kind == talk.Waiting && !r.c.extended.Load() {
		ev = told(ev)
	}
	if e := streamEvent(ev); e != nil {
		r.send(&wire.ServerMessage{Message: &wire.ServerMessage_Stream{Stream: e}}, r.key, mergeable(ev))
	}
}

// told says in words what a plain client has no event for: that the run waits for a
// person. It is said as thinking, which every client knows and nobody takes for a part
// of the answer.
func told(ev talk.Event) talk.Event {
	a := ev.Approval
	if a == nil {
		return ev
	}
	text := waitsFor(ev) + "\n"
	if a.Resolved != "" {
		text = fmt.Sprintf("[%s: %s]\n", a.Tool, a.Resolved)
	}
	return talk.Event{Kind: talk.Thinking, Run: ev.Run, Text: text}
}

func waitsFor(ev talk.Event) string {
	return fmt.Sprintf("[%s waits until a person allows %s %s: see the inbox of the hub, or parley approvals]", ev.Agent, ev.Approval.Tool, ev.Approval.Summary)
}

// lost is for a stream that broke off before its end. A reader that was too slow
// for its run is too slow for its connection.
func (r *request) lost(err error) error {
	if isLagged(err) {
		r.c.end(closeTooSlow, "too slow")
	}
	return err
}

// sendTurn gives the answer only, and before that, to those who know it, the
// place in the queue.
func (r *request) sendTurn() error {
	run, err := r.begin(r.msg.GetSend(), true)
	if err != nil {
		return err
	}
	defer run.Leave()
	var text strings.Builder
	waits := r.waits()
	defer waits.stop()
	for ev, err := range run.Events(waits.ctx) {
		if err != nil && waits.tooLong() {
			return r.goesOn(run, waits.said)
		}
		if err != nil {
			return r.lost(err)
		}
		switch ev.Kind {
		case talk.Queued:
			r.stream(ev)
		case talk.Waiting:
			waits.hear(ev)
		case talk.Chunk:
			text.WriteString(ev.Text)
		case talk.ToolsComplete:
			text.Reset() // the answer is the last round's text
		case talk.End:
			r.send(response(ev, text.String()), "", false)
			return nil
		}
	}
	return talk.ErrUnavailable
}

func response(end talk.Event, text string) *wire.ServerMessage {
	if end.Error != "" {
		return endError(end)
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_Response{Response: &wire.Response{
		Agent: end.Agent, Content: text, Provider: end.Provider, Model: end.Model, Usage: usage(end.Usage), RunId: end.Run,
	}}}
}

func (r *request) compact() error {
	in := r.msg.GetCompact()
	a, err := r.c.face.d.Talk.Compact(r.c.ctx, r.who, key(in), in.GetFocus())
	r.answer(compactResult(a), err)
	return nil
}

func compactResult(a memory.Archive) *wire.ServerMessage {
	return &wire.ServerMessage{Message: &wire.ServerMessage_Compact{Compact: &wire.CompactResult{
		Summary: a.Summary, ArchiveId: a.ID, Title: a.Title, ArchivedAt: a.ArchivedAt,
	}}}
}

// addressed is what most requests have: the key of a conversation.
type addressed interface {
	GetAgent() string
	GetSender() string
	GetThread() string
}

func key(m addressed) talk.Key {
	return talk.Key{Agent: m.GetAgent(), Sender: m.GetSender(), Thread: m.GetThread()}
}

func (r *request) replyToAsk() (*wire.ServerMessage, error) {
	in := r.msg.GetReplyToAsk()
	return pong(r.c.face.d.Talk.Reply(r.c.ctx, r.who, key(in), in.GetAskId(), in.GetContent()))
}

func (r *request) kill() (*wire.ServerMessage, error) {
	return pong(r.c.face.d.Talk.Kill(r.c.ctx, r.who, key(r.msg.GetKill())))
}

func (r *request) cancelRun() (*wire.ServerMessage, error) {
	in := r.msg.GetCancel()
	return pong(r.c.face.d.Talk.Cancel(r.c.ctx, r.who, key(in), in.GetRunId()))
}
