package openai

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/talk"
	wire "parley.internal/protocol/openai"
)

// voice is one of the wire's two ways to tell an answer: piece by piece, or whole.
type voice interface {
	start() []frame
	say(text string) []frame
	think(text string) []frame
	end() []frame
	fail(e *wire.Error) []frame
	whole() any
}

// frame is one server-sent event. An empty name is left out; nil data is the wire's last word.
type frame struct {
	event string
	data  any
}

// telling follows one run for one client.
type telling struct {
	f      *Face
	w      http.ResponseWriter
	r      *http.Request
	req    *wire.Request
	place  *place
	answer *wire.Answer
	voice  voice
	out    *sse

	started bool
	gap     bool // a round has ended: the next text is a paragraph of its own
	text    strings.Builder
	thought strings.Builder
}

// heard is an event of the run, or why there are no more.
type heard struct {
	ev  talk.Event
	err error
}

// follow tells the run to its end. A stream that waits says now and then that it lives.
func (t *telling) follow(run *talk.Run) {
	ctx, cancel := context.WithCancel(t.r.Context())
	events := make(chan heard, 64)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(events)
		for ev, err := range run.Events(ctx) {
			select {
			case events <- heard{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	defer reading.Wait()
	defer cancel()
	t.out = &sse{w: t.w, control: http.NewResponseController(t.w), patience: t.f.d.Limits.Write}
	beat := time.NewTicker(t.f.d.Limits.Beat)
	defer beat.Stop()
	for {
		select {
		case h, ok := <-events:
			if !ok {
				h.err = talk.ErrUnavailable
			}
			if h.err != nil {
				t.broken(h.err)
				return
			}
			if t.hear(h.ev) || t.out.err != nil {
				return
			}
		case <-beat.C:
			if t.req.Stream {
				t.out.comment("waiting")
			}
		case <-ctx.Done():
			return
		}
	}
}

// hear tells one event; true after the last.
func (t *telling) hear(ev talk.Event) bool {
	switch ev.Kind {
	case talk.Start:
		t.answer.Previous = responseID(ev.Seq, ev.Run, t.place.key.Thread)
	case talk.Chunk:
		t.say(ev.Text)
	case talk.Thinking:
		t.think(ev.Text)
	case talk.Waiting:
		t.waits(ev)
	case talk.Notice:
		t.think("[" + ev.Text + "]\n")
	case talk.ToolsComplete:
		t.gap = t.text.Len() > 0
	case talk.End:
		t.end(ev)
		return true
	}
	return false
}

func (t *telling) say(text string) {
	if t.gap {
		t.gap = false
		text = "\n\n" + text
	}
	t.text.WriteString(text)
	t.send(func() []frame { return t.voice.say(text) })
}

func (t *telling) think(text string) {
	t.thought.WriteString(text)
	t.send(func() []frame { return t.voice.think(text) })
}

// waits says that a person is asked, and what came of it. It is no part of the answer.
func (t *telling) waits(ev talk.Event) {
	a := ev.Approval
	if a == nil {
		return
	}
	text := fmt.Sprintf("[%s waits until a person allows %s %s: see the inbox of the hub, or parley approvals]\n", ev.Agent, a.Tool, a.Summary)
	if a.Resolved != "" {
		text = fmt.Sprintf("[%s: %s]\n", a.Tool, a.Resolved)
	}
	t.think(text)
}

// send writes what a voice says, if the client wants it as it comes.
func (t *telling) send(say func() []frame) {
	if !t.req.Stream {
		return
	}
	if !t.started {
		t.started = true
		t.out.frames(t.voice.start())
	}
	t.out.frames(say())
}

func (t *telling) end(ev talk.Event) {
	if ev.Error != "" {
		t.failed(failure(ev))
		return
	}
	a := t.answer
	a.Text, a.Thoughts, a.Finish = t.text.String(), t.thought.String(), wire.FinishStop
	for _, c := range ev.Calls {
		a.Calls = append(a.Calls, wire.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	switch {
	case len(a.Calls) > 0:
		a.Finish = wire.FinishCalls
	case finishes[ev.Finish] != "":
		a.Finish = finishes[ev.Finish]
	}
	if u := ev.Usage; u != nil {
		a.Usage = wire.Usage{Prompt: u.Prompt, Completion: u.Completion, Cached: u.CacheHit, Reasoning: u.Reasoning}
		if u.CostKnown {
			cost := float64(u.CostMicros) / 1e6
			a.Usage.Cost = &cost
		}
	}
	t.place.remember(t.req, a.Text, ev.Seq)
	if !t.req.Stream {
		t.w.Header().Set("Cache-Control", "no-store")
		writeJSON(t.w, http.StatusOK, t.voice.whole())
		return
	}
	t.send(t.voice.end)
}

// failed ends with a refusal: as one if nothing was sent, else inside the stream.
func (t *telling) failed(e *wire.Error) {
	if !t.out.begun {
		t.w.Header().Set("X-Should-Retry", "false") // the words are in the conversation; saying them again is the person's choice
		t.f.fail(t.w, t.r, e)
		return
	}
	t.send(func() []frame { return t.voice.fail(e) })
}

// broken is for a run whose end was not heard: the client was too slow, or the hub stops.
func (t *telling) broken(err error) {
	if t.r.Context().Err() != nil {
		return
	}
	if !t.out.begun {
		t.f.fail(t.w, t.r, err)
		return
	}
	e, _ := t.f.refusal(err)
	t.send(func() []frame { return t.voice.fail(e) })
}

// failure says how a run went wrong.
func failure(ev talk.Event) *wire.Error {
	switch {
	case ev.Stop == brain.StopBudget:
		e := wire.NewError(http.StatusTooManyRequests, "insufficient_quota", ev.Error)
		e.Type = "insufficient_quota"
		return e
	case ev.Code == talk.CodeTimeout, ev.Stop == brain.StopTimeout:
		return wire.NewError(http.StatusGatewayTimeout, "timeout", ev.Error)
	case ev.Stop == brain.StopModelError:
		return wire.NewError(http.StatusBadGateway, "model_failed", ev.Error)
	default:
		return wire.NewError(http.StatusConflict, ev.Stop.String(), ev.Error)
	}
}
