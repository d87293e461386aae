package rest

import (
	"encoding/json"
	"time"
)

// Tokens, people, devices and logged-in browsers.
var (
	CreateToken     = Post[TokenRequest, NewToken]("/api/tokens", "Make a token; its secret is shown once")
	ListTokens      = Get[None, Tokens]("/api/tokens", "List tokens, without their secrets")
	RevokeToken     = Delete[ByID, None]("/api/tokens/{id}", "Revoke a token; what it opened and made ends within a second")
	RotateToken     = Post[Rotation, Rotated]("/api/tokens/{id}/rotate", "Replace a token's secret; the old one works five minutes more")
	CreateLoginLink = Post[LoginLinkRequest, LoginLink]("/api/login-links", "Make a one-time login link")
	CreatePairing   = Post[PairingRequest, Pairing]("/api/pairing", "Make a one-time pairing code")
	ListDevices     = Get[None, Devices]("/api/devices", "List paired devices")
	RevokeDevice    = Delete[ByID, None]("/api/devices/{id}", "Revoke a device and its tokens")
	ListBrowsers    = Get[None, Browsers]("/api/browsers", "List logged-in browsers")
	CloseBrowser    = Delete[ByID, None]("/api/browsers/{id}", "Log a browser out")
	ListPeople      = Get[None, People]("/api/people", "List people")
	AddPerson       = Post[PersonRequest, Person]("/api/people", "Add a person").Created()
)

// The page's login, and passkeys. The second half of a login by passkey is Login.
var (
	Login             = Post[LoginRequest, Session]("/api/session", "Log the page in")
	WhoAmI            = Get[None, Session]("/api/session", "Who am I")
	Logout            = Delete[None, None]("/api/session", "Log the page out")
	BeginPasskeyLogin = Post[None, Ceremony]("/api/session/passkey", "Begin to log in by passkey")
	ListPasskeys      = Get[None, Passkeys]("/api/passkeys", "List your passkeys")
	BeginPasskey      = Post[None, Ceremony]("/api/passkeys/begin", "Begin to add a passkey")
	AddPasskey        = Post[PasskeyRequest, Passkey]("/api/passkeys", "Add the passkey the browser made").Created()
	RemovePasskey     = Delete[ByID, None]("/api/passkeys/{id}", "Remove a passkey")
	PushKey           = Get[None, PushPublicKey]("/api/push", "The key a browser subscribes to push messages with")
	SubscribeToPush   = Post[PushSubscription, None]("/api/push/subscriptions", "Tell this browser what waits; ends with the login")
	UnsubscribeToPush = Delete[PushEndpoint, None]("/api/push/subscriptions", "Tell this browser nothing any more")
)

// ByID names one thing.
type ByID struct {
	ID string `path:"id"`
}

// ByName names one thing that people gave a name.
type ByName struct {
	Name string `path:"name"`
}

// Principal is whoever acts.
type Principal struct {
	Kind string `json:"kind" enum:"person,agent,machine,device"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name      string   `json:"name,omitempty" maxLength:"200"`
	Role      string   `json:"role,omitempty" enum:"operator,node" default:"operator"`
	Scopes    []string `json:"scopes,omitempty" doc:"names, families or *, cut to your own; left out means *"`
	TTL       string   `json:"ttl,omitempty" doc:"a duration such as 24h, cut to your own; at least 1s"`
	Principal string   `json:"principal,omitempty" doc:"the person it is for; another than yourself needs admin"`
	Pairing   bool     `json:"pairing,omitempty" doc:"a token that pairs one device within 15 minutes"`
}

// NewToken is a token with its secret, shown once.
type NewToken struct {
	ID      string    `json:"id"`
	Token   string    `json:"token"`
	Code    string    `json:"code,omitempty"`
	Scopes  []string  `json:"scopes"`
	Expires time.Time `json:"expires_at,omitzero"`
}

// Token is a token without its secret.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Role      string    `json:"role"`
	Scopes    []string  `json:"scopes"`
	Principal Principal `json:"principal"`
	Device    string    `json:"device_id,omitempty"`
	Created   time.Time `json:"created_at"`
	Expires   time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used_at,omitzero"`
	Revoked   time.Time `json:"revoked_at,omitzero"`
	Maker     string    `json:"maker,omitempty" doc:"what it was made with and ends with: token:ID or passkey:ID; absent for the hub itself"`
}

// Tokens is a list of them.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}

// Rotation replaces a token's secret. The body may be left out.
type Rotation struct {
	ID   string `path:"id"`
	Body *Renewal
}

// Renewal says what else changes with a secret.
type Renewal struct {
	Renew bool `json:"renew,omitempty" doc:"also start the token's life anew, ending no later than your own"`
}

// Rotated is a token's new secret.
type Rotated struct {
	ID            string    `json:"id"`
	Token         string    `json:"token"`
	Expires       time.Time `json:"expires_at,omitzero"`
	OldValidUntil time.Time `json:"old_valid_until"`
}

// LoginLinkRequest asks for a login link, for oneself or for another person. Without
// scopes one's own page may do what the caller may, and another's everyday work.
type LoginLinkRequest struct {
	Principal string   `json:"principal,omitempty"`
	Scopes    []string `json:"scopes,omitempty"`
}

// LoginLink is a one-time login link.
type LoginLink struct {
	Path    string    `json:"path" doc:"append it to the hub's address"`
	Expires time.Time `json:"expires_at"`
}

// PairingRequest asks for a pairing code.
type PairingRequest struct {
	Name   string   `json:"name,omitempty" maxLength:"200"`
	Scopes []string `json:"scopes,omitempty"`
}

// Pairing pairs one device.
type Pairing struct {
	Code    string    `json:"code"`
	Token   string    `json:"token" doc:"the long form, for programs"`
	Expires time.Time `json:"expires_at"`
}

// Device is a program with a key of its own.
type Device struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Principal Principal `json:"principal"`
	PublicKey []byte    `json:"public_key"`
	Created   time.Time `json:"created_at"`
	LastSeen  time.Time `json:"last_seen_at,omitzero"`
	Revoked   time.Time `json:"revoked_at,omitzero"`
}

// Devices is a list of them.
type Devices struct {
	Devices []Device `json:"devices"`
}

// Browser is one in which somebody is logged in.
type Browser struct {
	ID        string    `json:"id"`
	Principal Principal `json:"principal"`
	Agent     string    `json:"agent" doc:"what it calls itself"`
	Current   bool      `json:"current"`
	Created   time.Time `json:"created_at"`
	Expires   time.Time `json:"expires_at"`
	LastUsed  time.Time `json:"last_used_at"`
}

// Browsers is a list of them.
type Browsers struct {
	Browsers []Browser `json:"browsers"`
}

// Person is somebody who uses the hub.
type Person struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Owner   bool      `json:"owner"`
	Created time.Time `json:"created_at"`
}

// People is a list of them.
type People struct {
	People []Person `json:"people"`
}

// PersonRequest adds a person.
type PersonRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"64"`
}

// LoginRequest carries one proof.
type LoginRequest struct {
	Login   string        `json:"login,omitempty" doc:"the secret of a one-time login link"`
	Pairing string        `json:"pairing,omitempty" doc:"a one-time pairing code such as ABCD-EFGH"`
	Token   string        `json:"token,omitempty" doc:"a token"`
	Passkey *PasskeyProof `json:"passkey,omitempty" doc:"the browser's answer to POST /api/session/passkey"`
	Name    string        `json:"name,omitempty" maxLength:"200" doc:"what to call this browser"`
}

// Session is who a caller is.
type Session struct {
	Principal Principal `json:"principal"`
	Owner     bool      `json:"owner"`
	Scopes    []string  `json:"scopes"`
	CSRF      string    `json:"csrf,omitempty" doc:"to be sent back in X-Parley-CSRF with every change"`
	Expires   time.Time `json:"expires_at,omitzero"`
}

// PasskeyProof is a browser's answer to a ceremony.
type PasskeyProof struct {
	Ceremony string          `json:"ceremony"`
	Response json.RawMessage `json:"response" doc:"what navigator.credentials gave, as JSON"`
}

// PasskeyRequest adds a passkey.
type PasskeyRequest struct {
	PasskeyProof
	Name string `json:"name" maxLength:"200"`
}

// Ceremony is what a browser is to answer.
type Ceremony struct {
	ID      string          `json:"ceremony"`
	Options json.RawMessage `json:"options"`
}

// Passkey is a person's own key.
type Passkey struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Principal Principal `json:"principal"`
	Scopes    []string  `json:"scopes"`
	Created   time.Time `json:"created_at"`
	LastUsed  time.Time `json:"last_used_at,omitzero"`
	Expires   time.Time `json:"expires_at,omitzero" doc:"when what it was made with ends"`
}

// Passkeys is a list of them.
type Passkeys struct {
	Passkeys []Passkey `json:"passkeys"`
}

// PushPublicKey is what a browser subscribes with.
type PushPublicKey struct {
	PublicKey string `json:"public_key"`
}

// PushSubscription is where a browser is told.
type PushSubscription struct {
	Endpoint string `json:"endpoint" maxLength:"2000"`
	P256dh   string `json:"p256dh" maxLength:"200"`
	Auth     string `json:"auth" maxLength:"100"`
}

// PushEndpoint names a subscription.
type PushEndpoint struct {
	Endpoint string `query:"endpoint" required:"true" maxLength:"2000"`
}
