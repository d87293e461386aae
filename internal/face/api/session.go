package api

import (
	"context"
	"errors"
	"net/http"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/protocol/rest"
)

// People is what the session and token routes need of package identity.
type People struct {
	Directory *identity.Directory
	Passkeys  *identity.Passkeys
	// Logins slows down guessing; Refused is told of what was not accepted.
	Logins  *limit.Guesses
	Refused func(address string, err error, locked bool)
}

// RegisterSession adds the page's login and logout.
func RegisterSession(a *API, p People) {
	addBody(a, access{Public: true, Tag: "session"}, rest.Login, p.login)
	add(a, access{Tag: "session"}, rest.WhoAmI, whoAmI)
	add(a, access{Tag: "session"}, rest.Logout, p.logout)
}

func (p People) login(ctx context.Context, _ identity.Actor, in *rest.LoginRequest) (rest.Session, error) {
	c := callOf(ctx)
	address := front.Address(c.r)
	try, err := p.Logins.Attempt(address)
	if err != nil {
		return rest.Session{}, err
	}
	defer try.End()
	login, err := p.open(ctx, in, c.r.UserAgent(), address)
	if err != nil {
		if errors.Is(err, identity.ErrRefused) {
			p.Refused(address, err, try.Failed())
		}
		return rest.Session{}, err
	}
	try.Succeeded()
	front.SetCookie(c.w, c.r, login.Cookie, login.Page.Expires)
	return viewSession(login.Actor, login.CSRF), nil
}

// open redeems whichever proof was sent.
func (p People) open(ctx context.Context, in *rest.LoginRequest, agent, address string) (identity.Login, error) {
	if in.Name != "" {
		agent = in.Name
	}
	switch {
	case in.Login != "":
		return p.Directory.RedeemLink(ctx, in.Login, agent, address)
	case in.Pairing != "":
		return p.Directory.RedeemCode(ctx, in.Pairing, agent, address)
	case in.Passkey != nil:
		return p.Passkeys.FinishLogin(ctx, in.Passkey.Ceremony, in.Passkey.Response, agent, address)
	case in.Token != "":
		who, err := p.Directory.Authenticate(ctx, in.Token)
		if err != nil {
			return identity.Login{}, err
		}
		return p.Directory.OpenPage(ctx, who.From(address), agent)
	default:
		return identity.Login{}, front.NewProblem(http.StatusBadRequest, "bad_request", "send a login secret, a pairing code, a passkey or a token", nil)
	}
}

func whoAmI(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Session, error) {
	csrf := ""
	if cookie, err := callOf(ctx).r.Cookie(front.CookieName); err == nil && who.PageID != "" {
		csrf = identity.CSRF(cookie.Value)
	}
	return viewSession(who, csrf), nil
}

func (p People) logout(ctx context.Context, who identity.Actor, _ *rest.None) (rest.None, error) {
	if who.PageID == "" {
		return rest.None{}, front.NewProblem(http.StatusBadRequest, "bad_request", "this request carries a token; revoke that instead", nil)
	}
	if err := p.Directory.ClosePage(ctx, who, who.PageID); err != nil {
		return rest.None{}, err
	}
	c := callOf(ctx)
	front.ClearCookie(c.w, c.r)
	return rest.None{}, nil
}

func viewSession(who identity.Actor, csrf string) rest.Session {
	return rest.Session{Principal: viewPrincipal(who.Person), Owner: who.Owner, Scopes: who.Scopes.Sorted(), CSRF: csrf, Expires: who.Expires}
}
