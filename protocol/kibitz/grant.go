package kibitz

import (
	"slices"
	"strings"
	"time"
)

// Capability is one word of a grant.
type Capability string

// What a participant may perceive.
const (
	SeeScreen       Capability = "see-screen"
	HearAudio       Capability = "hear-audio"
	ReadChat        Capability = "read-chat"
	ReadRoster      Capability = "read-roster"
	ReceiveDirected Capability = "receive-directed"
)

// What a participant may do.
const (
	SendChat Capability = "send-chat"
	Speak    Capability = "speak"
	Act      Capability = "act"
)

// PerceiveWords is the vocabulary of perception, in its fixed order.
func PerceiveWords() []Capability {
	return []Capability{SeeScreen, HearAudio, ReadChat, ReadRoster, ReceiveDirected}
}

// ActWords is the vocabulary of action, in its fixed order.
func ActWords() []Capability { return []Capability{SendChat, Speak, Act} }

// Words is the whole vocabulary, in its fixed order.
func Words() []Capability { return append(PerceiveWords(), ActWords()...) }

func (c Capability) perceives() bool { return slices.Contains(PerceiveWords(), c) }

// Grant is what one participant may perceive and do. Read from JSON it is
// always sanitised, so that no unknown word gets further than the door.
type Grant struct {
	Perceive []Capability
	Act      []Capability
	// Backend and Egress disclose where perception goes; they give no right.
	Backend string
	Egress  bool
	// ExpiresAt is in epoch seconds; zero means never.
	ExpiresAt float64
}

// FullGrant is every capability: the default of a human.
func FullGrant() Grant { return Grant{Perceive: PerceiveWords(), Act: ActWords()} }

// AgentGrant is the default of an agent: it watches.
func AgentGrant() Grant {
	return Grant{Perceive: []Capability{ReadChat, ReadRoster, ReceiveDirected}, Act: []Capability{}}
}

// Has tells whether the word is in the grant, whatever the time: ask it of
// an effective grant.
func (g Grant) Has(c Capability) bool {
	return slices.Contains(g.Perceive, c) || slices.Contains(g.Act, c)
}

// Effective is the grant at a time: nothing when it has expired, with
// disclosure and expiry still visible.
func (g Grant) Effective(now time.Time) Grant {
	if g.ExpiresAt > 0 && seconds(now) >= g.ExpiresAt {
		g.Perceive, g.Act = []Capability{}, []Capability{}
	}
	return g
}

// Intersect is what is both requested and allowed, in the request's order,
// with the request's disclosure and the sooner expiry.
func Intersect(request, allowed Grant) Grant {
	out := request
	out.Perceive = common(request.Perceive, allowed.Perceive)
	out.Act = common(request.Act, allowed.Act)
	if out.ExpiresAt == 0 || (allowed.ExpiresAt > 0 && allowed.ExpiresAt < out.ExpiresAt) {
		out.ExpiresAt = allowed.ExpiresAt
	}
	return out
}

func common(request, allowed []Capability) []Capability {
	out := make([]Capability, 0, len(request))
	for _, c := range request {
		if slices.Contains(allowed, c) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// Summary splits the vocabulary into what the grant allows and what not.
func (g Grant) Summary() (can, cannot []Capability) {
	can, cannot = []Capability{}, []Capability{}
	for _, c := range Words() {
		if g.Has(c) {
			can = append(can, c)
		} else {
			cannot = append(cannot, c)
		}
	}
	return can, cannot
}

// Gained lists what g allows and before did not.
func (g Grant) Gained(before Grant) []Capability {
	can, _ := g.Summary()
	return slices.DeleteFunc(can, before.Has)
}

// String is the form of the audit trail: words joined by commas, or "nothing".
func (g Grant) String() string {
	can, _ := g.Summary()
	if len(can) == 0 {
		return "nothing"
	}
	words := make([]string, len(can))
	for i, c := range can {
		words[i] = string(c)
	}
	return strings.Join(words, ",")
}

// seconds is a time as tokens and grants write it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
