package brain

import (
	"fmt"

	"parley.internal/internal/brain/model"
)

// Answer puts the events of one model call together. The zero value is ready.
type Answer struct {
	Signature string
	Usage     model.Usage
	Finish    model.Finish
	Complete  bool // the Done event was there

	text     pieces
	thinking pieces
	calls    []openCall
}

type openCall struct {
	index    int
	id, name string
	args     pieces
}

// Add takes the next event in.
func (a *Answer) Add(ev *model.Event) {
	switch ev.Kind {
	case model.Text:
		a.text.add(ev.Text)
	case model.Thinking:
		a.thinking.add(ev.Text)
	case model.CallDelta:
		a.delta(ev)
	case model.Done:
		a.Usage, a.Finish, a.Complete = ev.Usage, ev.Finish, true
	}
	if ev.Signature != "" {
		a.Signature = ev.Signature
	}
}

// delta merges by index: arguments append, id and name are taken when present.
// It returns true when this delta made the call's name known.
func (a *Answer) delta(ev *model.Event) (named bool) {
	c := a.call(ev.Index)
	named = c.name == "" && ev.Name != ""
	if ev.ID != "" {
		c.id = ev.ID
	}
	if ev.Name != "" {
		c.name = ev.Name
	}
	c.args.add(ev.Arguments)
	return named
}

func (a *Answer) call(index int) *openCall {
	for i := range a.calls {
		if a.calls[i].index == index {
			return &a.calls[i]
		}
	}
	a.calls = append(a.calls, openCall{index: index})
	return &a.calls[len(a.calls)-1]
}

// Text is all text so far.
func (a *Answer) Text() string { return a.text.String() }

// Reasoning is all thinking so far.
func (a *Answer) Reasoning() string { return a.thinking.String() }

// Calls are the calls so far, in the order they began. A call the provider gave
// no id gets one made of the round and its place.
func (a *Answer) Calls(round int) []model.Call {
	if len(a.calls) == 0 {
		return nil
	}
	out := make([]model.Call, len(a.calls))
	for i := range a.calls {
		c := &a.calls[i]
		out[i] = model.Call{ID: c.id, Name: c.name, Arguments: c.args.String()}
		if out[i].ID == "" {
			out[i].ID = fmt.Sprintf("call_%d_%d", round, i+1)
		}
	}
	return out
}

// pieces joins strings; a single one costs nothing.
type pieces struct {
	first string
	all   []byte
}

func (p *pieces) add(s string) {
	switch {
	case s == "":
	case p.first == "":
		p.first = s
	default:
		if p.all == nil {
			p.all = append(p.all, p.first...)
		}
		p.all = append(p.all, s...)
	}
}

func (p *pieces) len() int {
	if p.all != nil {
		return len(p.all)
	}
	return len(p.first)
}

func (p *pieces) String() string {
	if p.all != nil {
		return string(p.all)
	}
	return p.first
}
