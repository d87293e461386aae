package kibitz

import "fmt"

// Type is the member t of a frame.
type Type string

// Frame is any frame of either side.
type Frame interface {
	// Type is the frame's t.
	Type() Type
}

// ClientFrame is a frame a client may send.
type ClientFrame interface {
	Frame
	// Number is n, zero when no answer is asked for.
	Number() int64
	check(o object) error
}

// FrameError says why a message is no frame. With N the hub answers it.
type FrameError struct {
	// Code is proto.bad-frame or proto.unknown; limit.size closes the connection.
	Code Code
	Type Type
	N    int64
	// Reason repeats no value of the frame.
	Reason string
}

// Error implements error.
func (e *FrameError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Reason) }

// Type implements [Frame].
func (*Voice) Type() Type { return "voice" }

// Type implements [Frame].
func (*Knock) Type() Type { return "knock" }

// Type implements [Frame].
func (*Resume) Type() Type { return "resume" }

// Type implements [Frame].
func (*Send) Type() Type { return "send" }

// Type implements [Frame].
func (*SetGrant) Type() Type { return "grant" }

// Type implements [Frame].
func (*Mod) Type() Type { return "mod" }

// Type implements [Frame].
func (*Sig) Type() Type { return "sig" }

// Type implements [Frame].
func (*Media) Type() Type { return "media" }

// Type implements [Frame].
func (*Blocked) Type() Type { return "blocked" }

// Type implements [Frame].
func (*Sync) Type() Type { return "sync" }

// Type implements [Frame].
func (*Leave) Type() Type { return "leave" }

// Type implements [Frame].
func (*Ping) Type() Type { return "ping" }

// Type implements [Frame].
func (*Pong) Type() Type { return "pong" }

// Type implements [Frame].
func (*Hello) Type() Type { return "hello" }

// Type implements [Frame].
func (*Lobby) Type() Type { return "lobby" }

// Type implements [Frame].
func (*Self) Type() Type { return "self" }

// Type implements [Frame].
func (*ICE) Type() Type { return "ice" }

// Type implements [Frame].
func (*Roster) Type() Type { return "roster" }

// Type implements [Frame].
func (*Caps) Type() Type { return "caps" }

// Type implements [Frame].
func (*From) Type() Type { return "from" }

// Type implements [Frame].
func (*Live) Type() Type { return "live" }

// Type implements [Frame].
func (*Gap) Type() Type { return "gap" }

// Type implements [Frame].
func (*Ack) Type() Type { return "ack" }

// Type implements [Frame].
func (*Nak) Type() Type { return "nak" }

// Type implements [Frame].
func (*Challenge) Type() Type { return "challenge" }

// Type implements [Frame].
func (*Republish) Type() Type { return "republish" }

// Type implements [Frame].
func (*Audit) Type() Type { return "audit" }

// Type implements [Frame].
func (*Reset) Type() Type { return "reset" }

// Type implements [Frame].
func (*Kick) Type() Type { return "kick" }

// Number implements [ClientFrame].
func (a *Announce) Number() int64 { return a.N }

// Number implements [ClientFrame].
func (f *Resume) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Send) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *SetGrant) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Mod) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Sig) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Media) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Blocked) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Sync) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Leave) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Ping) Number() int64 { return f.N }

// Number implements [ClientFrame].
func (f *Pong) Number() int64 { return f.N }

func newClientFrame(t Type) ClientFrame {
	switch t {
	case "voice":
		return new(Voice)
	case "knock":
		return new(Knock)
	case "resume":
		return new(Resume)
	case "send":
		return new(Send)
	case "grant":
		return new(SetGrant)
	case "mod":
		return new(Mod)
	case "sig":
		return new(Sig)
	case "media":
		return new(Media)
	case "blocked":
		return new(Blocked)
	case "sync":
		return new(Sync)
	case "leave":
		return new(Leave)
	case "ping":
		return new(Ping)
	case "pong":
		return new(Pong)
	}
	return nil
}

func newHubFrame(t Type) Frame {
	all := []Frame{
		new(Hello), new(Lobby), new(Self), new(Roster), new(Caps), new(From), new(Live), new(Gap),
		new(Ack), new(Nak), new(Challenge), new(Republish), new(Sig), new(Audit), new(Reset),
		new(Kick), new(Ping), new(Pong), new(ICE),
	}
	for _, f := range all {
		if f.Type() == t {
			return f
		}
	}
	return nil
}
