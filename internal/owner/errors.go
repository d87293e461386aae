package owner

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

var (
	// ErrGone is what Do answers when the thing has ended here before it was asked:
	// the question goes to its next owner.
	ErrGone = errors.New("it does not live here any more")
	// ErrSilent says that the hub that was asked died, or cannot be reached, before it
	// answered. It may have done what it was asked.
	ErrSilent = errors.New("the hub that was asked does not answer")
	// ErrMoving says that nobody owned the thing for as long as a question waits.
	ErrMoving = errors.New("it is changing its owner; try again")
	// ErrClosed says that this hub takes nothing any more.
	ErrClosed = errors.New("this hub is stopping")
	// ErrHere says that a thing of that name lives here already.
	ErrHere = errors.New("it lives here already")
	// ErrTooLarge says that a question or an answer is larger than MaxBody.
	ErrTooLarge = errors.New("too large to travel between hubs")
)

var (
	// errMoved says that nobody has begun to answer: look for the owner again.
	errMoved = errors.New("the owner is another")
	// errNoHub says that the hub that was asked is not there at all.
	errNoHub = fmt.Errorf("%w: its hub is not there", errMoved)
)

// Named is an error that means the same on every hub.
type Named struct {
	name   string
	pack   func(error) (data []byte, ok bool)
	unpack func(text string, data []byte) error
}

// Error names a sentinel. What it was wrapped in travels as text.
func Error(name string, base error) Named {
	return Named{
		name: name,
		pack: func(err error) ([]byte, bool) { return nil, errors.Is(err, base) },
		unpack: func(text string, _ []byte) error {
			if text == base.Error() {
				return base
			}
			return &remoteError{base, text}
		},
	}
}

// ErrorType names a type of error, a pointer to a struct: its exported fields travel.
func ErrorType[E error](name string) Named {
	return Named{
		name: name,
		pack: func(err error) ([]byte, bool) {
			e, ok := errors.AsType[E](err)
			if !ok {
				return nil, false
			}
			data, err := json.Marshal(e, lenient)
			return data, err == nil
		},
		unpack: func(text string, data []byte) error {
			var e E
			if json.Unmarshal(data, &e, lenient) != nil || any(e) == nil {
				return errors.New(text)
			}
			return e
		},
	}
}

// remoteError keeps what an error means and how another hub put it.
type remoteError struct {
	base error
	text string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.base }

// names are the errors of a kind and those that every kind has.
type names []Named

func newNames(own []Named) names {
	return append(append(names{Error("moved", errMoved), Error("moved", ErrGone)}, own...),
		Error("cancelled", context.Canceled), Error("late", context.DeadlineExceeded), Error("too_large", ErrTooLarge), Error("end", io.EOF))
}

const (
	// unnamed is the name of all other errors; only their text travels.
	unnamed = "internal"
	// maxText bounds that text, so that a head always fits a message.
	maxText = 4 << 10
)

// pack fills in how an error travels; data goes into the body.
func (n names) pack(h *head, err error) (data []byte) {
	h.Error, h.Text = unnamed, err.Error()
	h.Text = h.Text[:min(len(h.Text), maxText)]
	for _, e := range n {
		if data, ok := e.pack(err); ok {
			h.Error = e.name
			return data
		}
	}
	return nil
}

// unpack is the error that an answer carries.
func (n names) unpack(h head, data []byte) error {
	for _, e := range n {
		if e.name == h.Error {
			return e.unpack(h.Text, data)
		}
	}
	return errors.New(h.Text)
}
