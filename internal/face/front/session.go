package front

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
)

// CookieName is the page's session cookie.
const CookieName = "parley_session"

// CSRFHeader carries the page's proof that a change comes from the page itself.
const CSRFHeader = "X-Parley-CSRF"

// errNoCredential says that a request carried neither token nor cookie.
var errNoCredential = &identity.AuthError{Reason: identity.Unknown}

// Actor tells who the caller is: by bearer token, or by the page's cookie, in
// which case a request that changes something must also carry the CSRF token.
// Wrong tokens count against the caller's address.
func (f *Front) Actor(r *http.Request) (identity.Actor, error) {
	if who, ok := Admitted(r.Context()); ok {
		return who, nil
	}
	who, err := f.identify(r)
	if err != nil {
		return identity.Actor{}, err
	}
	if who.Credential == identity.TokenPairing {
		f.refusedRequest(r, who, "", "pairing_token")
		return identity.Actor{}, NewProblem(http.StatusForbidden, "forbidden", "a pairing token can only pair a device", nil)
	}
	return who.From(Address(r)), nil
}

func (f *Front) identify(r *http.Request) (identity.Actor, error) {
	if secret, ok := Bearer(r); ok {
		return f.authenticate(r.Context(), Address(r), secret)
	}
	cookie, err := pageCookie(r)
	if err != nil {
		return identity.Actor{}, errNoCredential
	}
	who, err := f.people.AuthenticatePage(r.Context(), cookie.Value)
	if err == nil && changes(r.Method) && !identity.CheckCSRF(cookie.Value, r.Header.Get(CSRFHeader)) {
		err = NewProblem(http.StatusForbidden, "csrf", "the request does not carry this page's CSRF token", nil)
	}
	if err != nil {
		f.refusedPage(r, err)
	}
	return who, err
}

// authenticate looks at a token unless its address is locked out.
func (f *Front) authenticate(ctx context.Context, address, secret string) (identity.Actor, error) {
	who, err := f.people.Authenticate(ctx, secret)
	if !errors.Is(err, identity.ErrRefused) {
		// Right, or could not be looked at, which is not the caller's fault: a
		// database that is away must not lock people out.
		return who, err
	}
	try, throttled := f.attempts.Attempt(address)
	if throttled != nil {
		return identity.Actor{}, throttled
	}
	f.Refused(address, err, try.Failed())
	return who, err
}

// Refused records a credential that was not accepted: where it came from and
// why, never the credential.
func (f *Front) Refused(address string, err error, locked bool) {
	if f.trail == nil {
		return
	}
	entry := audit.Entry{Actor: "address:" + address, Action: audit.AuthRefused, Outcome: string(identity.ReasonOf(err))}
	if entry.Outcome == "" {
		entry.Outcome = "refused"
	}
	f.trail.Note(entry)
	if locked {
		f.trail.Note(audit.Entry{Actor: "address:" + address, Action: audit.AuthLocked, Outcome: "locked"})
	}
}

// Require is Session for callers that need a scope.
func (f *Front) Require(r *http.Request, scope string) (identity.Actor, error) {
	who, err := f.Actor(r)
	if err != nil {
		return who, err
	}
	return who, f.Need(r, who, scope)
}

// Need fails unless the session has the scope.
func Need(who identity.Actor, scope string) error {
	if scope == "" || who.Scopes.Has(scope) {
		return nil
	}
	return NewProblem(http.StatusForbidden, "insufficient_scope", "this needs the scope "+scope, nil)
}

// SetCookie logs the page in; it lives as long as the session.
func SetCookie(w http.ResponseWriter, r *http.Request, value string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name: CookieName, Value: value, Path: "/", Expires: expires, HttpOnly: true,
		Secure: Secure(r), SameSite: http.SameSiteStrictMode,
	})
}

// ClearCookie logs the page out.
func ClearCookie(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: CookieName, Path: "/", MaxAge: -1, HttpOnly: true, Secure: Secure(r), SameSite: http.SameSiteStrictMode})
}

// Bearer is the token of the Authorization header.
func Bearer(r *http.Request) (string, bool) {
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(secret), true
}

func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

type addressKey struct{}

type secureKey struct{}

// Address is where the caller is: the socket's peer, or behind a trusted proxy
// the address it forwards.
func Address(r *http.Request) string {
	if address, ok := r.Context().Value(addressKey{}).(string); ok {
		return address
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Secure reports whether the caller's own connection is encrypted.
func Secure(r *http.Request) bool {
	secure, _ := r.Context().Value(secureKey{}).(bool)
	return secure || r.TLS != nil
}
