package brain

import (
	"errors"

	"parley.internal/internal/brain/model"
)

// elidedText stands in for tool output that was left out to fit the window.
const elidedText = "[older output left out to fit the model's window]"

func isTooLong(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Cause == model.CauseContext
}

// nearlyFull goes by what the provider reported, never by an estimate.
func (r *run) nearlyFull() bool {
	w := r.spec.Model.Window
	return w > 0 && r.out.Last.Total()*100 >= w*nearlyFull
}

// makeRoom makes the request shorter: first by archiving what came before this
// turn, once; then by leaving out older tool output. It reports whether the request
// changed, which it cannot do for ever.
func (r *run) makeRoom() bool {
	if r.spec.Compact != nil && !r.compacted {
		r.compacted = true
		msgs, err := r.spec.Compact(r.ctx, r.msgs)
		if err == nil {
			r.msgs, r.own = msgs, nil // the others' from now on
			return true
		}
		r.sink.Emit(Event{Kind: Notice, Code: "compact_failed", Text: "the conversation could not be shortened: " + err.Error()})
	}
	msgs, changed := elide(r.msgs)
	if changed {
		r.msgs, r.own = msgs, nil
		r.sink.Emit(Event{Kind: Notice, Code: "elided", Text: "older tool output was left out to fit the model's window"})
	}
	return changed
}

// elide empties all tool results but those of the latest batch.
func elide(msgs []model.Message) ([]model.Message, bool) {
	keep := len(msgs)
	for keep > 0 && len(msgs[keep-1].Calls) == 0 {
		keep--
	}
	var out []model.Message
	for i := range msgs[:keep] {
		if msgs[i].Role != model.Tool || len(msgs[i].Text) <= len(elidedText) {
			continue
		}
		if out == nil {
			out = append(out, msgs...)
		}
		out[i].Text = elidedText
	}
	return out, out != nil
}
