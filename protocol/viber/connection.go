package viber

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Role is what a client is.
type Role string

// The roles.
const (
	RoleOperator Role = "operator"
	RoleNode     Role = "node"
)

// Welcome is the first frame of a connection.
type Welcome struct {
	DaemonVersion   string       `json:"daemon_version"`
	ProtocolVersion string       `json:"protocol_version"`
	Challenge       string       `json:"challenge"`
	Capabilities    []Capability `json:"capabilities"`
	Limits          *Limits      `json:"limits,omitzero"`
	Auth            *WelcomeAuth `json:"auth,omitzero"`
}

// WelcomeAuth tells a client what connection:auth will need.
type WelcomeAuth struct {
	ChallengeRequired bool `json:"challenge_required"`
}

// Has reports whether a capability was announced.
func (w *Welcome) Has(c Capability) bool { return slices.Contains(w.Capabilities, c) }

// Auth proves who the client is and asks for scopes.
type Auth struct {
	DeviceID          string      `json:"device_id"`
	Token             string      `json:"token,omitzero"`
	ChallengeResponse string      `json:"challenge_response,omitzero"`
	Role              Role        `json:"role"`
	Scopes            []string    `json:"scopes"`
	PublicKey         string      `json:"public_key,omitzero"`
	ProtocolVersion   string      `json:"protocol_version,omitzero"`
	Client            *ClientInfo `json:"client,omitzero"`
}

// ClientInfo names a client program.
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
}

// maxDeviceID bounds what is stored per device, in characters; an id made from a key has 36.
const maxDeviceID = 256

func (a *Auth) check() *Violation {
	switch {
	case a.ProtocolVersion != "" && a.ProtocolVersion != Version:
		v := violation(ReasonUnsupportedVersion, "/protocol_version", "this server speaks protocol version %s", Version)
		v.Close = CloseProtocol
		return v
	case a.DeviceID == "" || utf8.RuneCountInString(a.DeviceID) > maxDeviceID || strings.Contains(a.DeviceID, "\n"):
		return violation(ReasonBadPayload, "/device_id", "device_id is a line of 1 to %d characters", maxDeviceID)
	case a.Role != RoleOperator && a.Role != RoleNode:
		return violation(ReasonBadPayload, "/role", "role is operator or node")
	}
	return nil
}

// Challenge is what the client has to have signed: nonce is the challenge of the
// welcome, or the session id when refreshing.
func (a *Auth) Challenge(nonce string) Challenge {
	return Challenge{Nonce: nonce, DeviceID: a.DeviceID, Role: a.Role, Scopes: a.Scopes, Token: a.Token}
}

// Refresh renews a session; it reads like an Auth.
type Refresh struct{ Auth }

// Authenticated is the grant.
type Authenticated struct {
	SessionID     string   `json:"session_id"`
	GrantedScopes []string `json:"granted_scopes"`
	ExpiresAt     Time     `json:"expires_at,omitzero"`
	Principal     string   `json:"principal,omitzero"`
	// DeviceToken is sent once, to a device that has just been paired.
	DeviceToken          string `json:"device_token,omitzero"`
	DeviceTokenExpiresAt Time   `json:"device_token_expires_at,omitzero"`
}

// ConnectionError is an error that is not about a task or a terminal.
type ConnectionError struct {
	Code         Code     `json:"code"`
	Message      string   `json:"message"`
	RetryAfterMS int64    `json:"retry_after_ms,omitzero"`
	Details      *Details `json:"details,omitzero"`
}

// Details say more about an error than its code.
type Details struct {
	Reason Reason `json:"reason,omitzero"`
	// Field and Limit say what of a payload broke which bound.
	Field string `json:"field,omitzero"`
	Limit int    `json:"limit,omitzero"`
	// Required and Granted come with insufficient_scope.
	Required []string `json:"required,omitzero"`
	Granted  []string `json:"granted,omitzero"`
}

// Close asks for the end of a connection.
type Close struct {
	Reason string `json:"reason,omitzero"`
}

// Reasons of connection:close and connection:goodbye.
const (
	GoodbyeClientClose = "client_close"
	GoodbyeShutdown    = "shutdown"
	GoodbyeReplaced    = "replaced"
)

// Goodbye is the last frame of a connection.
type Goodbye struct {
	Reason string `json:"reason,omitzero"`
	// RunningTasks go on without the client; nil when the sender says nothing about them.
	RunningTasks []string `json:"running_tasks,omitzero"`
}

// TokenRotate asks for a new secret, of one's own token if TokenID is empty.
type TokenRotate struct {
	TokenID string `json:"token_id,omitzero"`
}

// TokenRotated carries the new secret, to the asking connection only.
type TokenRotated struct {
	Token         string `json:"token"`
	TokenID       string `json:"token_id"`
	ExpiresAt     Time   `json:"expires_at"`
	OldValidUntil Time   `json:"old_valid_until"`
}

// Type names the message.
func (*Welcome) Type() Type { return TypeWelcome }

// Type names the message.
func (*Auth) Type() Type { return TypeAuth }

// Type names the message.
func (*Refresh) Type() Type { return TypeRefresh }

// Type names the message.
func (*Authenticated) Type() Type { return TypeAuthenticated }

// Type names the message.
func (*ConnectionError) Type() Type { return TypeError }

// Type names the message.
func (*Close) Type() Type { return TypeClose }

// Type names the message.
func (*Goodbye) Type() Type { return TypeGoodbye }

// Type names the message.
func (*TokenRotate) Type() Type { return TypeTokenRotate }

// Type names the message.
func (*TokenRotated) Type() Type { return TypeTokenRotated }
