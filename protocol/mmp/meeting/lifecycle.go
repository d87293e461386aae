package meeting

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrIllegalMove is a step that the state does not allow.
var ErrIllegalMove = errors.New("illegal move")

func illegal(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrIllegalMove, fmt.Sprintf(format, args...))
}

func reasonOf(err error) string {
	if r, ok := errors.AsType[SkillReason](err); ok {
		return string(r)
	}
	return string(ExtInvalidFormat)
}

// ExchangeState is where the exchange of a skill stands, seen from one side.
type ExchangeState string

// The states. The last three may follow any that is not final.
const (
	ExOffered       ExchangeState = "offered"
	ExRequested     ExchangeState = "requested"
	ExOfferReceived ExchangeState = "offer_received"
	ExAccepted      ExchangeState = "accepted"
	ExSent          ExchangeState = "sent"
	ExClosed        ExchangeState = "closed"
	ExReceiving     ExchangeState = "receiving"
	ExChecked       ExchangeState = "checked"
	ExQuarantined   ExchangeState = "quarantined"
	ExApproved      ExchangeState = "approved"
	ExRejected      ExchangeState = "rejected"
	ExDeclined      ExchangeState = "declined"
	ExExpired       ExchangeState = "expired"
	ExFailed        ExchangeState = "failed"
)

// ExchangeSide is our part in it.
type ExchangeSide string

// The sides.
const (
	SideOffering   ExchangeSide = "offering"
	SideReceiving  ExchangeSide = "receiving"
	SideRequesting ExchangeSide = "requesting"
)

var exchangeSteps = map[ExchangeSide]map[ExchangeState][]ExchangeState{
	SideOffering: {"": {ExOffered}, ExOffered: {ExAccepted}, ExAccepted: {ExSent}, ExSent: {ExClosed}},
	SideReceiving: {
		"": {ExOfferReceived}, ExOfferReceived: {ExAccepted}, ExAccepted: {ExChecked},
		ExChecked: {ExQuarantined}, ExQuarantined: {ExApproved, ExRejected},
	},
	SideRequesting: {"": {ExRequested}, ExRequested: {ExReceiving}},
}

// Final tells whether nothing follows a state.
func (s ExchangeState) Final() bool {
	switch s {
	case ExClosed, ExReceiving, ExApproved, ExRejected, ExDeclined, ExExpired, ExFailed:
		return true
	}
	return false
}

// CanBecome tells whether a step is legal. The empty state is the beginning.
func (s ExchangeState) CanBecome(next ExchangeState, side ExchangeSide) bool {
	if slices.Contains(exchangeSteps[side][s], next) {
		return true
	}
	ends := next == ExDeclined || next == ExExpired || next == ExFailed
	return ends && s != "" && !s.Final() && exchangeSteps[side][s] != nil
}

// How long each state may last, by the way the other side is reached.
const (
	OfferTTL         = 24 * time.Hour
	ContentTTLDirect = 10 * time.Minute
	ContentTTLRelay  = 2 * time.Hour
	ReflectTTL       = 24 * time.Hour
	QuarantineTTL    = 7 * 24 * time.Hour
)

// TimeLimit is how long a state may last; 0 means for ever.
func (s ExchangeState) TimeLimit(relayed bool) time.Duration {
	switch s {
	case ExOffered, ExOfferReceived, ExRequested:
		return OfferTTL
	case ExAccepted:
		if relayed {
			return ContentTTLRelay
		}
		return ContentTTLDirect
	case ExSent:
		return ReflectTTL
	case ExQuarantined:
		return QuarantineTTL
	}
	return 0
}

// WhenLate is what a state becomes at the end of its time.
func (s ExchangeState) WhenLate() ExchangeState {
	switch s {
	case ExSent:
		return ExClosed
	case ExQuarantined:
		return ExRejected
	case ExAccepted:
		return ExFailed
	}
	return ExExpired
}

// ExtensionState is where a received extension stands.
type ExtensionState string

// The states. Only a promoted one is active, and only a person promotes.
const (
	ExtPending          ExtensionState = "pending"
	ExtEvaluating       ExtensionState = "evaluating"
	ExtAdopted          ExtensionState = "adopted"
	ExtPendingPromotion ExtensionState = "pending_promotion"
	ExtPromoted         ExtensionState = "promoted"
	ExtRejected         ExtensionState = "rejected"
	ExtDisabled         ExtensionState = "disabled"
)

// AdoptedTTL is how long an adopted extension waits for a person.
const AdoptedTTL = 7 * 24 * time.Hour

// CanBecome tells whether a step is legal; byPerson whether a person takes it.
func (s ExtensionState) CanBecome(next ExtensionState, byPerson bool) bool {
	switch [2]ExtensionState{s, next} {
	case [2]ExtensionState{ExtPending, ExtEvaluating}, [2]ExtensionState{ExtEvaluating, ExtAdopted},
		[2]ExtensionState{ExtAdopted, ExtPendingPromotion}:
		return true
	case [2]ExtensionState{ExtPendingPromotion, ExtPromoted}, [2]ExtensionState{ExtPromoted, ExtDisabled},
		[2]ExtensionState{ExtDisabled, ExtPromoted}:
		return byPerson
	}
	settled := s == ExtPromoted || s == ExtDisabled || s == ExtRejected || s == ""
	return next == ExtRejected && !settled
}

// Active tells whether the extension's actions count.
func (s ExtensionState) Active() bool { return s == ExtPromoted }
