package modelhttp

import (
	"slices"
	"strconv"

	"parley.internal/internal/brain/model"
)

// noResult stands in for the answer of a call that never got one.
const noResult = "no result: the call was interrupted"

// Repair returns a history no provider refuses: every tool call is answered
// right behind the message that made it, answers to nothing are left out, and
// no call id is used twice (agents change their model, and ids of one provider
// mean nothing to another). clean, if not nil, fits an id to the provider's
// alphabet. The given messages are not changed.
func Repair(msgs []model.Message, clean func(string) string) []model.Message {
	r := repair{clean: clean, used: map[string]bool{}}
	for _, m := range msgs {
		if m.Role == model.Tool {
			r.answer(m)
			continue
		}
		r.close()
		if len(m.Calls) > 0 {
			m.Calls = r.open(m.Calls)
		}
		r.out = append(r.out, m)
	}
	r.close()
	return r.out
}

type repair struct {
	out   []model.Message
	clean func(string) string
	used  map[string]bool
	// pending are the calls of the last assistant message without an answer
	pending []pending
}

type pending struct{ id, wire, name string }

func (r *repair) open(calls []model.Call) []model.Call {
	out := make([]model.Call, len(calls))
	for i, c := range calls {
		wire := r.unique(c.ID)
		r.pending = append(r.pending, pending{c.ID, wire, c.Name})
		c.ID = wire
		out[i] = c
	}
	return out
}

func (r *repair) answer(m model.Message) {
	for i, p := range r.pending {
		if p.id == m.CallID {
			m.CallID = p.wire
			r.out = append(r.out, m)
			r.pending = append(r.pending[:i:i], r.pending[i+1:]...)
			return
		}
	}
}

func (r *repair) close() {
	for _, p := range r.pending {
		r.out = append(r.out, model.Message{Role: model.Tool, CallID: p.wire, Name: p.name, Text: noResult, IsError: true})
	}
	r.pending = nil
}

func (r *repair) unique(id string) string {
	if r.clean != nil {
		id = r.clean(id)
	}
	if id == "" {
		id = "call"
	}
	wire := id
	for n := 2; r.used[wire]; n++ {
		wire = id + "_" + strconv.Itoa(n)
	}
	r.used[wire] = true
	return wire
}

// Latest is the index of the latest message of the person (not injected), or -1.
func Latest(msgs []model.Message) int {
	for i, msg := range slices.Backward(msgs) {
		if msg.Role == model.User && !msg.Injected {
			return i
		}
	}
	return -1
}
