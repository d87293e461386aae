package brain

import (
	"errors"

	"parley.internal/internal/brain/model"
)

// bytesPerToken is how much text a token stands for in an estimate: what the models of
// today come to for English. Other languages need more tokens, so an estimate is
// rather too low than too high; it is for budgets and bills nobody.
const bytesPerToken = 4

// Spent is what a model call used. A call that was cut short (cancelled, steered,
// timed out, broken off) never came to report that, but its provider bills what it
// read and wrote all the same: then it is estimated, from the request and from what
// was said. A call that the provider refused used nothing.
func Spent(req *model.Request, a *Answer, failed error) (u model.Usage, estimated bool) {
	if a.Complete {
		return a.Usage, false
	}
	if failed == nil || refusedByProvider(a, failed) {
		return model.Usage{}, false
	}
	return model.Usage{Prompt: tokensIn(requestBytes(req)), Completion: tokensIn(a.bytes()), Rounds: 1}, true
}

// refusedByProvider tells that not a word came and that this was no matter of time:
// nothing was computed.
func refusedByProvider(a *Answer, failed error) bool {
	e, ok := errors.AsType[*model.Error](failed)
	return ok && e.Cause != model.CauseTimeout && a.bytes() == 0
}

func tokensIn(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

func requestBytes(req *model.Request) int {
	n := len(req.System)
	for i := range req.Messages {
		m := &req.Messages[i]
		n += len(m.Text) + len(m.Reasoning)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// bytes is how much was said so far.
func (a *Answer) bytes() int {
	n := a.text.len() + a.thinking.len()
	for i := range a.calls {
		n += len(a.calls[i].name) + a.calls[i].args.len()
	}
	return n
}
