package brain

import (
	"context"
	"errors"
	"iter"
	"strings"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/mask"
)

// maskedErrors is a provider whose errors hold no secrets. A server may repeat the key it
// was given when it refuses it, and the text goes into logs, records and answers.
type maskedErrors struct {
	model.Provider
	mask *mask.Mask
}

// Unwrap is the provider itself.
func (p maskedErrors) Unwrap() model.Provider { return p.Provider }

// Stream implements model.Provider.
func (p maskedErrors) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for ev, err := range p.Provider.Stream(ctx, req) {
			if !yield(ev, p.masked(err)) {
				return
			}
		}
	}
}

func (p maskedErrors) masked(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return maskedError{p.mask.Text(err.Error()), err}
	}
	shown := *e
	shown.Text = p.mask.Text(strings.TrimPrefix(e.Error(), e.Provider+": "))
	return &shown
}

// maskedError says the same with other words.
type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.err }
