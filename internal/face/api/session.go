package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/internal/limit"
)

// People is what the session and token routes need of package identity.
type People struct {
	Directory *identity.Directory
	Passkeys  *identity.Passkeys
	// Logins slows down guessing; Refused is told of what was not accepted.
	Logins  *limit.Guesses
	Refused func(address string, err error, locked bool)
}

type loginRequest struct {
	Body struct {
		Login   string        `json:"login,omitempty" doc:"the secret of a one-time login link"`
		Pairing string        `json:"pairing,omitempty" doc:"a one-time pairing code such as ABCD-EFGH"`
		Token   string        `json:"token,omitempty" doc:"a token"`
		Passkey *passkeyProof `json:"passkey,omitempty" doc:"the browser's answer to POST /api/session/passkey"`
		Name    string        `json:"name,omitempty" maxLength:"200" doc:"what to call this browser"`
	}
}

type sessionInfo struct {
	Principal identity.Principal `json:"principal"`
	Owner     bool               `json:"owner"`
	Scopes    []string           `json:"scopes"`
	CSRF      string             `json:"csrf,omitempty" doc:"to be sent back in X-Parley-CSRF with every change"`
	Expires   time.Time          `json:"expires_at,omitzero"`
}

type sessionAnswer struct{ Body sessionInfo }

// RegisterSession adds the page's login and logout.
func RegisterSession(a *API, p People) {
	add(a, route{Method: "POST", Path: "/api/session", Public: true, Tag: "session", Summary: "Log the page in"}, p.login)
	add(a, route{Method: "GET", Path: "/api/session", Tag: "session", Summary: "Who am I"}, whoAmI)
	add(a, route{Method: "DELETE", Path: "/api/session", Tag: "session", Summary: "Log the page out", Status: http.StatusNoContent}, p.logout)
}

func (p People) login(ctx context.Context, _ identity.Actor, in *loginRequest) (*sessionAnswer, error) {
	c := callOf(ctx)
	address := front.Address(c.r)
	try, err := p.Logins.Attempt(address)
	if err != nil {
		return nil, err
	}
	defer try.End()
	login, err := p.open(ctx, in, c.r.UserAgent(), address)
	if err != nil {
		if errors.Is(err, identity.ErrRefused) {
			p.Refused(address, err, try.Failed())
		}
		return nil, err
	}
	try.Succeeded()
	front.SetCookie(c.w, c.r, login.Cookie, login.Page.Expires)
	return &sessionAnswer{describe(login.Actor, login.CSRF)}, nil
}

// open redeems whichever proof was sent.
func (p People) open(ctx context.Context, in *loginRequest, agent, address string) (identity.Login, error) {
	if in.Body.Name != "" {
		agent = in.Body.Name
	}
	switch {
	case in.Body.Login != "":
		return p.Directory.RedeemLink(ctx, in.Body.Login, agent, address)
	case in.Body.Pairing != "":
		return p.Directory.RedeemCode(ctx, in.Body.Pairing, agent, address)
	case in.Body.Passkey != nil:
		return p.Passkeys.FinishLogin(ctx, in.Body.Passkey.Ceremony, in.Body.Passkey.Response, agent, address)
	case in.Body.Token != "":
		who, err := p.Directory.Authenticate(ctx, in.Body.Token)
		if err != nil {
			return identity.Login{}, err
		}
		return p.Directory.OpenPage(ctx, who.From(address), agent)
	default:
		return identity.Login{}, front.NewProblem(http.StatusBadRequest, "bad_request", "send a login secret, a pairing code, a passkey or a token", nil)
	}
}

func whoAmI(ctx context.Context, who identity.Actor, _ *struct{}) (*sessionAnswer, error) {
	csrf := ""
	if cookie, err := callOf(ctx).r.Cookie(front.CookieName); err == nil && who.PageID != "" {
		csrf = identity.CSRF(cookie.Value)
	}
	return &sessionAnswer{describe(who, csrf)}, nil
}

func (p People) logout(ctx context.Context, who identity.Actor, _ *struct{}) (*struct{}, error) {
	if who.PageID == "" {
		return nil, front.NewProblem(http.StatusBadRequest, "bad_request", "this request carries a token; revoke that instead", nil)
	}
	if err := p.Directory.ClosePage(ctx, who, who.PageID); err != nil {
		return nil, err
	}
	c := callOf(ctx)
	front.ClearCookie(c.w, c.r)
	return nil, nil
}

func describe(who identity.Actor, csrf string) sessionInfo {
	return sessionInfo{Principal: who.Person, Owner: who.Owner, Scopes: who.Scopes.Sorted(), CSRF: csrf, Expires: who.Expires}
}
