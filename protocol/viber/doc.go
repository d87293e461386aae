// Package viber is the wire of the board protocol: a person hands an agent a
// goal, watches it stream, approves what it does, corrects it mid-run and shares
// its terminals. The base is the Viber WebSocket protocol, version 1; Parley's
// additions are new types, optional fields and capability names only, so a client
// written from the base alone works.
//
// The package is pure: types, codec, limits, signatures and the text rules. It
// does no I/O, reads no clock (time and message ids are parameters) and starts no
// goroutine.
//
// # Frames
//
// Each text frame is one JSON object, the envelope:
//
//	{"type":"task:stop","id":"…","timestamp":"2026-01-15T10:30:00.000Z","payload":{"task_id":"…"}}
//
// A server reads with [DecodeFromClient]. It is strict: duplicate names, bad
// UTF-8, wrong types, sizes and words are refused with a [*Violation], whose
// [Violation.Answer] is the connection:error to send back. Unknown fields are
// ignored.
//
//	m, err := viber.DecodeFromClient(frame)
//	if v, ok := errors.AsType[*viber.Violation](err); ok {
//		send(v.Answer(), m.ID)
//		return
//	}
//	switch p := m.Body.(type) {
//	case *viber.TaskSubmit:
//		…
//	}
//	frame, err = viber.Encode(viber.Header{ID: uuid, At: now, ReplyTo: m.ID}, &viber.TaskStarted{…})
//
// A client reads with [DecodeFromServer], which is forgiving: a type from the
// future is a [*Unknown], a time that cannot be read is zero.
//
// # What each request needs
//
// [ScopeFor], [AllowedBeforeAuth] and [RateCounted] say what a
// server must know about a type before it acts; [NeedsCapability] says which
// announced capability lets a client use it.
//
// # Text rules
//
//	TextSplitter   PTY bytes in, frames of valid UTF-8 out, whatever the chunking
//	Scrollback     the last bytes of a terminal, never beginning inside a sequence
//	MergeText      neighbouring text deltas of a turn become one, with from_seq
//	ArgumentJoiner fragments of tool arguments become the object that is approved
//	Summary        the first sentence of a result
//	TaskSubmit.Digest   what "the same body" means for an idempotency key
package viber
