package kibitz

import (
	"errors"
	"strings"
)

// Refusal is why something was not done: a code for programs and a text for
// people. Both go out on the wire, so the text repeats no secret.
type Refusal struct {
	Code   Code
	Reason string
}

// Error implements error as "code: reason".
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Reason }

// Is lets errors.Is compare by code alone: errors.Is(err, &Refusal{Code: GateStale}).
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Reason == "" && t.Code == r.Code
}

func refuse(code Code, reason string) *Refusal { return &Refusal{Code: code, Reason: reason} }

// Lacks is the refusal for a missing right: what it would have emitted is
// act.denied, what it would have received perceive.denied.
func Lacks(c Capability) *Refusal {
	if c.perceives() {
		return refuse(PerceiveDenied, "grant lacks "+string(c))
	}
	return refuse(ActDenied, "grant lacks "+string(c))
}

// CodeOf finds the code of any error of this package; empty if it has none.
func CodeOf(err error) Code {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Code
	}
	if f, ok := errors.AsType[*FrameError](err); ok {
		return f.Code
	}
	return ""
}

// Reasons of proofs. Some appear in several places with a code of each place.
const (
	reasonMissing      = "missing assertion or fingerprint"
	reasonNoKeys       = "no allowed keys"
	reasonNoMatch      = "no matching allowed key"
	reasonWrongKind    = "wrong assertion kind"
	reasonWrongRoom    = "wrong room"
	reasonNotBound     = "not cert-bound to this connection"
	reasonNoIat        = "no iat"
	reasonFuture       = "assertion from the future"
	reasonStale        = "stale assertion"
	reasonBadSignature = "bad signature"
	reasonExpired      = "expired"
	reasonNoName       = "no name"
)

// GateCode is the code of a reason an assertion or an invite was refused for;
// empty for a text that is none.
func GateCode(reason string) Code {
	switch reason {
	case reasonMissing, reasonNoName:
		return GateMissing
	case reasonNoKeys:
		return GateNoAgents
	case reasonNoMatch:
		return GateUnlisted
	case reasonWrongKind:
		return GateWrongKind
	case reasonWrongRoom:
		return GateWrongRoom
	case reasonNotBound:
		return GateNotBound
	case reasonNoIat:
		return GateNoIat
	case reasonFuture:
		return GateFuture
	case reasonStale:
		return GateStale
	case reasonBadSignature:
		return GateBadSignature
	case reasonExpired:
		return GateExpired
	}
	return ""
}

func gateRefusal(reason string) *Refusal { return refuse(GateCode(reason), reason) }

// creditReasons pairs the words a reason starts with and its code; some
// reasons end in what was found.
func creditReasons() [][2]string {
	return [][2]string{
		{"malformed credential", string(CreditMalformed)},
		{"unsupported alg", string(CreditAlg)},
		{"unexpected typ", string(CreditTyp)},
		{"no key for kid", string(CreditNoKey)},
		{"no usable key", string(CreditNoKey)},
		{reasonBadSignature, string(CreditBadSignature)},
		{"bad iss", string(CreditIss)},
		{"wrong kind", string(CreditWrongKind)},
		{reasonExpired, string(CreditExpired)},
		{"not yet valid", string(CreditNotYetValid)},
		{"issued in the future", string(CreditFuture)},
		{"no sub", string(CreditNoSub)},
		{reasonWrongRoom, string(CreditWrongRoom)},
		{"in use", string(CreditInUse)},
		{"credit keys unavailable", string(CreditUnavailable)},
	}
}

// CreditCode is the code of a reason a credit was refused for; empty for a
// text that is none.
func CreditCode(reason string) Code {
	for _, r := range creditReasons() {
		if strings.HasPrefix(reason, r[0]) {
			return Code(r[1])
		}
	}
	return ""
}

// CreditRefusal makes the refusal for a reason, also for the two a hub finds
// out by itself: "in use" and "credit keys unavailable".
func CreditRefusal(reason string) *Refusal { return refuse(CreditCode(reason), reason) }
