package kibitz

// Code is the stable name of a refusal, written group.name.
type Code string

// Codes about frames, rooms and the door.
const (
	ProtoBadFrame Code = "proto.bad-frame"
	ProtoUnknown  Code = "proto.unknown"

	RoomBadID       Code = "room.bad-id"
	RoomUnknown     Code = "room.unknown"
	RoomExists      Code = "room.exists"
	RoomFull        Code = "room.full"
	RoomLocked      Code = "room.locked"
	RoomClosed      Code = "room.closed"
	RoomNotAdmitted Code = "room.not-admitted"

	GateMissing       Code = "gate.missing"
	GateTooLarge      Code = "gate.too-large"
	GateNoAgents      Code = "gate.no-agents"
	GateNoHumans      Code = "gate.no-humans"
	GateUnlisted      Code = "gate.unlisted"
	GateWrongKind     Code = "gate.wrong-kind"
	GateWrongRoom     Code = "gate.wrong-room"
	GateNotBound      Code = "gate.not-bound"
	GateNoIat         Code = "gate.no-iat"
	GateFuture        Code = "gate.future"
	GateStale         Code = "gate.stale"
	GateBadSignature  Code = "gate.bad-signature"
	GateExpired       Code = "gate.expired"
	GateNotListed     Code = "gate.not-listed"
	GateIssuer        Code = "gate.issuer"
	GateChain         Code = "gate.chain"
	GatePolicyExpired Code = "gate.policy-expired"
	GateUnavailable   Code = "gate.unavailable"
	GateBusy          Code = "gate.busy"

	LobbyDeny  Code = "lobby.denied"
	Kicked     Code = "kicked"
	KeyRevoked Code = "key.revoked"
)

// Codes about credits.
const (
	CreditRequired     Code = "credit.required"
	CreditMalformed    Code = "credit.malformed"
	CreditAlg          Code = "credit.alg"
	CreditTyp          Code = "credit.typ"
	CreditNoKey        Code = "credit.no-key"
	CreditBadSignature Code = "credit.bad-signature"
	CreditIss          Code = "credit.iss"
	CreditWrongKind    Code = "credit.wrong-kind"
	CreditExpired      Code = "credit.expired"
	CreditNotYetValid  Code = "credit.not-yet-valid"
	CreditFuture       Code = "credit.future"
	CreditNoSub        Code = "credit.no-sub"
	CreditWrongRoom    Code = "credit.wrong-room"
	CreditInUse        Code = "credit.in-use"
	CreditUnavailable  Code = "credit.unavailable"
	CreditTooLarge     Code = "credit.too-large"
	CreditLapsed       Code = "credit.lapsed"
)

// Codes about rights, content, delivery and policy.
const (
	ActDenied      Code = "act.denied"
	PerceiveDenied Code = "perceive.denied"
	HostDenied     Code = "host.denied"
	GrantDenied    Code = "grant.denied"
	GrantSelf      Code = "grant.self"
	GrantHost      Code = "grant.host"

	ContentUnknown Code = "content.unknown"
	ContentControl Code = "content.control"
	ContentEmpty   Code = "content.empty"
	ContentBad     Code = "content.bad"

	SchemaLimit      Code = "schema.limit"
	ViewNotPublisher Code = "view.not-publisher"
	ViewDirectedOnly Code = "view.directed-only"
	ToUnknown        Code = "to.unknown"
	ToSelf           Code = "to.self"
	LimitSize        Code = "limit.size"
	LimitRate        Code = "limit.rate"
	SealRequired     Code = "seal.required"
	SealUnexpected   Code = "seal.unexpected"
	SigFingerprint   Code = "sig.fingerprint"
	SigOff           Code = "sig.off"
	ResumeUnknown    Code = "resume.unknown"
	PolicyBad        Code = "policy.bad"
	PolicyStale      Code = "policy.stale"
)

// Codes lists every code, in the order of the protocol's table.
func Codes() []Code {
	return []Code{
		ProtoBadFrame, ProtoUnknown,
		RoomBadID, RoomUnknown, RoomExists, RoomFull, RoomLocked, RoomClosed, RoomNotAdmitted,
		GateMissing, GateTooLarge, GateNoAgents, GateNoHumans, GateUnlisted, GateWrongKind, GateWrongRoom,
		GateNotBound, GateNoIat, GateFuture, GateStale, GateBadSignature, GateExpired, GateNotListed,
		GateIssuer, GateChain, GatePolicyExpired, GateUnavailable, GateBusy,
		LobbyDeny, Kicked, KeyRevoked,
		CreditRequired, CreditMalformed, CreditAlg, CreditTyp, CreditNoKey, CreditBadSignature, CreditIss,
		CreditWrongKind, CreditExpired, CreditNotYetValid, CreditFuture, CreditNoSub, CreditWrongRoom,
		CreditInUse, CreditUnavailable, CreditTooLarge, CreditLapsed,
		ActDenied, PerceiveDenied, HostDenied, GrantDenied, GrantSelf, GrantHost,
		ContentUnknown, ContentControl, ContentEmpty, ContentBad,
		SchemaLimit, ViewNotPublisher, ViewDirectedOnly, ToUnknown, ToSelf, LimitSize, LimitRate,
		SealRequired, SealUnexpected, SigFingerprint, SigOff, ResumeUnknown, PolicyBad, PolicyStale,
	}
}

// DoorStatus is the lobby status a refusal at the door is told with.
func (c Code) DoorStatus() LobbyStatus {
	switch c {
	case Kicked, RoomFull, LobbyDeny:
		return LobbyDenied
	case RoomLocked:
		return LobbyLocked
	}
	return LobbyUnverified
}

// Close codes of the WebSocket.
const (
	CloseGoingAway  = 1001
	CloseBinary     = 1003
	CloseTooBig     = 1009
	CloseBadFrames  = 4400
	CloseRevoked    = 4401
	CloseRefused    = 4403 // five refusals at the door
	CloseRoomClosed = 4404
	CloseSlow       = 4408 // or silent
	CloseReplaced   = 4409 // by a resume
	CloseKicked     = 4410
	CloseFlooding   = 4429
)
