package viber

// Code is an error category.
type Code string

// The nine codes of the base: the only ones a connection:error or the answer to
// a request carries.
const (
	CodeAuthFailed      Code = "auth_failed"
	CodeInvalidToken    Code = "invalid_token"
	CodeRateLimited     Code = "rate_limited"
	CodeProtocolError   Code = "protocol_error"
	CodeTaskNotFound    Code = "task_not_found"
	CodeAlreadyRunning  Code = "already_running"
	CodeBudgetExceeded  Code = "budget_exceeded"
	CodeApprovalTimeout Code = "approval_timeout"
	CodeInternalError   Code = "internal_error"
)

// Further categories with which a run can end, in task:error only.
const (
	CodeTimeout         Code = "timeout"
	CodeMaxTokens       Code = "max_tokens"
	CodeMaxSteps        Code = "max_steps"
	CodeProviderError   Code = "provider_error"
	CodeContextOverflow Code = "context_overflow"
	CodeToolError       Code = "tool_error"
)

// Codes returns the nine codes of the base.
func Codes() []Code {
	return []Code{
		CodeAuthFailed, CodeInvalidToken, CodeRateLimited, CodeProtocolError, CodeTaskNotFound,
		CodeAlreadyRunning, CodeBudgetExceeded, CodeApprovalTimeout, CodeInternalError,
	}
}

// Reason says more than a code: details.reason of an error.
type Reason string

// Reasons of protocol_error.
const (
	ReasonBadJSON              Reason = "bad_json"
	ReasonBadEnvelope          Reason = "bad_envelope"
	ReasonBadPayload           Reason = "bad_payload"
	ReasonBinaryFrame          Reason = "binary_frame"
	ReasonUnknownType          Reason = "unknown_type"
	ReasonTooLarge             Reason = "too_large"
	ReasonUnsupportedVersion   Reason = "unsupported_version"
	ReasonAlreadyAuthenticated Reason = "already_authenticated"
	ReasonMissingGoal          Reason = "missing_goal"
	ReasonBadMode              Reason = "bad_mode"
	ReasonBadOption            Reason = "bad_option"
	ReasonBadArtifact          Reason = "bad_artifact"
	ReasonBadRole              Reason = "bad_role"
	ReasonBadInjectionMode     Reason = "bad_injection_mode"
	ReasonBadCursor            Reason = "bad_cursor"
	ReasonUnknownAgent         Reason = "unknown_agent"
	ReasonIdempotencyConflict  Reason = "idempotency_conflict"
	ReasonApprovalNotFound     Reason = "approval_not_found"
)

// Reasons of auth_failed.
const (
	ReasonNotAuthenticated  Reason = "not_authenticated"
	ReasonAuthTimeout       Reason = "auth_timeout"
	ReasonInsufficientScope Reason = "insufficient_scope"
	ReasonBadSignature      Reason = "bad_signature"
	ReasonDeviceMismatch    Reason = "device_mismatch"
	ReasonRoleMismatch      Reason = "role_mismatch"
	ReasonChallengeRequired Reason = "challenge_required"
	ReasonChallengeMismatch Reason = "challenge_mismatch"
	ReasonChallengeExpired  Reason = "challenge_expired"
	ReasonUnknownToken      Reason = "unknown_token"
	ReasonMissingToken      Reason = "missing_token"
)

// Reasons of invalid_token.
const (
	ReasonMalformed      Reason = "malformed"
	ReasonExpired        Reason = "expired"
	ReasonRevoked        Reason = "revoked"
	ReasonUsed           Reason = "used"
	ReasonSessionExpired Reason = "session_expired"
)

// Reasons of the other codes.
const (
	ReasonSlowConsumer    Reason = "slow_consumer"
	ReasonQueueFull       Reason = "queue_full"
	ReasonTooManyTasks    Reason = "too_many_tasks"
	ReasonTaskFinished    Reason = "task_finished"
	ReasonShuttingDown    Reason = "shutting_down"
	ReasonDaemonRestarted Reason = "daemon_restarted"
)

// CloseCode is why a WebSocket was closed.
type CloseCode int

// The close codes of the protocol.
const (
	CloseNormal       CloseCode = 1000
	CloseGoingAway    CloseCode = 1001
	CloseTooLarge     CloseCode = 1009
	CloseInternal     CloseCode = 1011
	CloseSlowConsumer CloseCode = 4013
	CloseProtocol     CloseCode = 4400
	CloseAuth         CloseCode = 4401
	CloseRefused      CloseCode = 4403
	CloseTimeout      CloseCode = 4408
	CloseReplaced     CloseCode = 4409
	CloseRate         CloseCode = 4429
)

// Reconnect reports whether coming back can help: not after a refusal, nor when
// another connection has taken this one's place.
func (c CloseCode) Reconnect() bool {
	switch c {
	case CloseProtocol, CloseAuth, CloseRefused, CloseReplaced:
		return false
	}
	return true
}
