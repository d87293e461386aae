package kibitz

import "errors"

// What is refused by this package's callers and not over the wire; refusals
// over the wire are a [*Refusal] or a [*FrameError].
var (
	// ErrBadKey: not a P-256 key in JWK form, or a private one where a public
	// one belongs.
	ErrBadKey = errors.New("not a usable P-256 JWK")
	// ErrUnopened: the box is not for this room, label or recipient, or was
	// changed. Whoever gets it drops the message.
	ErrUnopened = errors.New("the box does not open")
)

var (
	errUTF8 = errors.New("not UTF-8")
	errType = errors.New("a member has the wrong type")
)
