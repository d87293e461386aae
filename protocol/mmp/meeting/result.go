package meeting

import (
	"maps"
	"time"

	"parley.internal/protocol/mmp"
)

// The status words of processing results.
const (
	ResultReceived = "received"
	ResultRejected = "rejected"
	ResultAccepted = "accepted"
	ResultDeclined = "declined"
	ResultError    = "error"
)

// The hints a result may give in place of a ready message.
const (
	HintAcceptOrDecline = "accept_or_decline"
	HintOfferOrDecline  = "offer_skill_or_decline"
	HintReflect         = "reflect"
	NextSendContent     = "send_skill_content"
)

// TextHashMismatch and its siblings are results old peers match.
const (
	TextHashMismatch = "Content hash mismatch - skill may be corrupted"
	TextNoPending    = "No pending offer matches this message"
)

// Result is what processing a message came to. Suggested is a message, a hint, or
// nil; Fields are the action's own.
type Result struct {
	Status    string
	Action    string
	From      string
	Suggested any
	Fields    map[string]any
}

// MarshalJSON puts the action's own members beside the four that are always there.
func (r Result) MarshalJSON() ([]byte, error) {
	all := make(map[string]any, len(r.Fields)+4)
	maps.Copy(all, r.Fields)
	all["status"], all["action"], all["from"], all["suggested_response"] = r.Status, r.Action, r.From, r.Suggested
	return mmp.Encode(all)
}

// Answer is the message to send back, when the result has a ready one. Errors and
// goodbyes are never answered, so that two agents cannot talk in circles.
func (r Result) Answer() (Message, bool) {
	if r.Action == ActionError || r.Action == ActionGoodbye {
		return Message{}, false
	}
	m, ok := r.Suggested.(Message)
	return m, ok
}

func (m Message) result(status string, suggested any, fields map[string]any) Result {
	return Result{Status: status, Action: m.Action, From: m.From, Suggested: suggested, Fields: fields}
}

// IntroduceResult answers an introduction with our own.
func (m Message) IntroduceResult(peer *PeerIntroduction, ours []string, reply Message) Result {
	common := CommonExtensions(ours, peer.Extensions)
	return m.result(ResultReceived, reply, map[string]any{
		"peer_identity": peer.Identity, "peer_extensions": list(peer.Extensions), "common_extensions": list(common),
		"compatibility": Compatibility(m.ProtocolVersion, common, peer.Actions),
	})
}

// list makes a nil list an empty one.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// GoodbyeResult notes the end of a talk.
func (m Message) GoodbyeResult(p GoodbyePayload) Result {
	return m.result(ResultReceived, nil, map[string]any{"reason": p.Reason, "summary": p.Summary, "session_complete": true})
}

// ErrorResult notes a peer's error.
func (m Message) ErrorResult(p ErrorPayload) Result {
	return m.result(ResultReceived, nil, map[string]any{
		"error_code": p.ErrorCode, "message": p.Message, "recoverable": p.Recoverable, "details": p.Details,
	})
}

// OfferResult notes an offer that may be accepted.
func (m Message) OfferResult(p OfferSkillPayload, canAccept bool) Result {
	return m.result(ResultReceived, HintAcceptOrDecline, map[string]any{"skill_info": p, "can_accept": canAccept})
}

// RejectResult turns an offer away with a ready refusal.
func (m Message) RejectResult(reason string, decline Message) Result {
	return m.result(ResultRejected, decline, map[string]any{"reason": reason})
}

// RequestResult notes a request and what matches it.
func (m Message) RequestResult(p RequestSkillPayload, matches []SkillInfo) Result {
	if matches == nil {
		matches = []SkillInfo{}
	}
	return m.result(ResultReceived, HintOfferOrDecline, map[string]any{"request": p, "matches": matches})
}

// AcceptResult notes an acceptance of the offer; nil when none was pending.
func (m Message) AcceptResult(offer *Message) Result {
	if offer == nil {
		return m.result(ResultReceived, nil, map[string]any{"note": TextNoPending})
	}
	return m.result(ResultAccepted, nil, map[string]any{"original_offer": *offer, "next_step": NextSendContent})
}

// DeclineResult notes a refusal.
func (m Message) DeclineResult(p DeclinePayload) Result {
	return m.result(ResultDeclined, nil, map[string]any{"reason": p.Reason})
}

// ContentResult notes a skill that went into quarantine.
func (m Message) ContentResult(p SkillContentPayload, validation any, quarantineID string) Result {
	return m.result(ResultReceived, HintReflect, map[string]any{
		"skill_name": p.SkillName, "format": p.Format, "content_hash": p.ContentHash,
		"validation": validation, "quarantine_id": quarantineID,
	})
}

// ContentRefused tells why a skill was not taken.
func (m Message) ContentRefused(reason SkillReason, suggested any) Result {
	return m.result(ResultError, suggested, map[string]any{"error": reason.Text(), "reason": string(reason)})
}

// ReflectResult closes an exchange.
func (m Message) ReflectResult(p ReflectPayload) Result {
	return m.result(ResultReceived, nil, map[string]any{"reflection": p.Reflection, "interaction_complete": true})
}

// UnsupportedResult answers an action nobody here knows, with a ready error.
func (m Message) UnsupportedResult(me string, available []string, now time.Time) (Result, error) {
	details, err := mmp.Encode(map[string]any{"unsupported_action": m.Action, "supported_actions": list(available)})
	if err != nil {
		return Result{}, err
	}
	reply, err := m.Reply(ActionError, me, ErrorPayload{
		ErrorCode: CodeUnsupportedAction, Message: "Action '" + m.Action + "' is not supported", Recoverable: true, Details: details,
	}, now)
	return m.result(ResultError, reply, map[string]any{
		"error": "Unsupported action: " + m.Action, "message": "Unknown action: " + m.Action, "available_actions": list(available),
	}), err
}

// InvalidResult answers a message whose payload or move makes no sense.
func (m Message) InvalidResult(me string, code ErrorCode, text string, now time.Time) (Result, error) {
	reply, err := m.Reply(ActionError, me, ErrorPayload{ErrorCode: code, Message: text, Recoverable: true}, now)
	return m.result(ResultError, reply, map[string]any{"error": text, "error_code": code}), err
}
