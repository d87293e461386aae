package api

import (
	"context"
	"net/http"
	"time"

	"parley/internal/face/front"
	"parley/internal/identity"
)

// RegisterTokens adds tokens, people, devices and logged-in browsers.
func RegisterTokens(a *API, p People) {
	manage := func(method, path, summary string, status int) route {
		return route{Method: method, Path: path, Scope: identity.DeviceManage, Tag: "people", Summary: summary, Status: status}
	}
	add(a, manage("POST", "/api/tokens", "Make a token; its secret is shown once", 0), p.createToken)
	add(a, manage("GET", "/api/tokens", "List tokens, without their secrets", 0), p.listTokens)
	add(a, manage("DELETE", "/api/tokens/{id}", "Revoke a token; what it opened and made ends within a second", http.StatusNoContent), p.revokeToken)
	add(a, manage("POST", "/api/tokens/{id}/rotate", "Replace a token's secret; the old one works five minutes more", 0), p.rotateToken)
	add(a, manage("POST", "/api/login-links", "Make a one-time login link", 0), p.createLink)
	add(a, manage("POST", "/api/pairing", "Make a one-time pairing code", 0), p.createCode)
	add(a, manage("GET", "/api/devices", "List paired devices", 0), p.listDevices)
	add(a, manage("DELETE", "/api/devices/{id}", "Revoke a device and its tokens", http.StatusNoContent), p.revokeDevice)
	add(a, manage("GET", "/api/browsers", "List logged-in browsers", 0), p.listPages)
	add(a, manage("DELETE", "/api/browsers/{id}", "Log a browser out", http.StatusNoContent), p.closePage)
	add(a, route{Method: "GET", Path: "/api/people", Scope: identity.StatusRead, Tag: "people", Summary: "List people"}, p.listPeople)
	add(a, route{Method: "POST", Path: "/api/people", Scope: identity.Admin, Tag: "people", Summary: "Add a person", Status: http.StatusCreated}, p.addPerson)
}

type byID struct {
	ID string `path:"id"`
}

type tokenRequest struct {
	Body struct {
		Name      string   `json:"name,omitempty" maxLength:"200"`
		Role      string   `json:"role,omitempty" enum:"operator,node" default:"operator"`
		Scopes    []string `json:"scopes,omitempty" doc:"names, families or *, cut to your own; left out means *"`
		TTL       string   `json:"ttl,omitempty" doc:"a duration such as 24h, cut to your own; at least 1s"`
		Principal string   `json:"principal,omitempty" doc:"the person it is for; another than yourself needs admin"`
		Pairing   bool     `json:"pairing,omitempty" doc:"a token that pairs one device within 15 minutes"`
	}
}

// issuedToken is the answer that shows a secret, once.
type issuedToken struct {
	ID      string    `json:"id"`
	Token   string    `json:"token"`
	Code    string    `json:"code,omitempty"`
	Scopes  []string  `json:"scopes"`
	Expires time.Time `json:"expires_at,omitzero"`
}

type issuedAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         issuedToken
}

func (p People) createToken(ctx context.Context, who identity.Actor, in *tokenRequest) (*issuedAnswer, error) {
	req := identity.TokenRequest{
		Name: in.Body.Name, Role: identity.Role(in.Body.Role), Scopes: in.Body.Scopes,
		Principal: in.Body.Principal, Pairing: in.Body.Pairing,
	}
	if in.Body.TTL != "" {
		ttl, err := time.ParseDuration(in.Body.TTL)
		if err != nil || ttl < time.Second {
			return nil, front.NewProblem(http.StatusBadRequest, "bad_request", "ttl must be a duration of at least 1s, such as 24h", err)
		}
		req.TTL = ttl
	}
	out, err := p.Directory.CreateToken(ctx, who, req)
	if err != nil {
		return nil, err
	}
	return issued(out), nil
}

func issued(t identity.Issued) *issuedAnswer {
	return &issuedAnswer{CacheControl: "no-store", Body: issuedToken{ID: t.ID, Token: t.Secret, Code: t.Code, Scopes: t.Scopes.Sorted(), Expires: t.Expires}}
}

// tokenView is a token without its secret.
type tokenView struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Kind      identity.TokenKind `json:"kind"`
	Role      identity.Role      `json:"role"`
	Scopes    []string           `json:"scopes"`
	Principal identity.Principal `json:"principal"`
	Device    string             `json:"device_id,omitempty"`
	Created   time.Time          `json:"created_at"`
	Expires   time.Time          `json:"expires_at,omitzero"`
	LastUsed  time.Time          `json:"last_used_at,omitzero"`
	Revoked   time.Time          `json:"revoked_at,omitzero"`
	Maker     string             `json:"maker,omitempty" doc:"what it was made with and ends with: token:ID or passkey:ID; absent for the hub itself"`
}

type tokenList struct {
	Body struct {
		Tokens []tokenView `json:"tokens"`
	}
}

func (p People) listTokens(ctx context.Context, who identity.Actor, _ *struct{}) (*tokenList, error) {
	tokens, err := p.Directory.Tokens(ctx, who)
	out := &tokenList{}
	out.Body.Tokens = []tokenView{}
	for _, t := range tokens {
		out.Body.Tokens = append(out.Body.Tokens, tokenView{
			ID: t.ID, Name: t.Name, Kind: t.Kind, Role: t.Role, Scopes: t.Scopes.Sorted(), Principal: t.Principal, Device: t.Device,
			Created: t.Created, Expires: t.Expires, LastUsed: t.LastUsed, Revoked: t.Revoked, Maker: t.Maker(),
		})
	}
	return out, err
}

func (p People) revokeToken(ctx context.Context, who identity.Actor, in *byID) (*struct{}, error) {
	return nil, p.Directory.Revoke(ctx, who, in.ID)
}

type rotateRequest struct {
	ID string `path:"id"`
	// A pointer: the body may be left out.
	Body *struct {
		Renew bool `json:"renew,omitempty" doc:"also start the token's life anew, ending no later than your own"`
	}
}

type rotatedAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		ID            string    `json:"id"`
		Token         string    `json:"token"`
		Expires       time.Time `json:"expires_at,omitzero"`
		OldValidUntil time.Time `json:"old_valid_until"`
	}
}

func (p People) rotateToken(ctx context.Context, who identity.Actor, in *rotateRequest) (*rotatedAnswer, error) {
	rotated, err := p.Directory.Rotate(ctx, who, in.ID, in.Body != nil && in.Body.Renew)
	if err != nil {
		return nil, err
	}
	out := &rotatedAnswer{CacheControl: "no-store"}
	out.Body.ID, out.Body.Token, out.Body.Expires, out.Body.OldValidUntil = rotated.ID, rotated.Secret, rotated.Expires, rotated.OldValidUntil
	return out, nil
}

type linkRequest struct {
	Body struct {
		Principal string   `json:"principal,omitempty"`
		Scopes    []string `json:"scopes,omitempty"`
	}
}

type linkAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Path    string    `json:"path" doc:"append it to the hub's address"`
		Expires time.Time `json:"expires_at"`
	}
}

func (p People) createLink(ctx context.Context, who identity.Actor, in *linkRequest) (*linkAnswer, error) {
	link, err := p.Directory.CreateLink(ctx, who, identity.LinkRequest{Principal: in.Body.Principal, Scopes: in.Body.Scopes})
	if err != nil {
		return nil, err
	}
	out := &linkAnswer{CacheControl: "no-store"}
	out.Body.Path, out.Body.Expires = LoginPath(link.Secret), link.Expires
	return out, nil
}

// LoginPath is where a login link points to: the secret is in the fragment,
// which browsers send to nobody.
func LoginPath(secret string) string { return "/#login=" + secret }

type pairingRequest struct {
	Body struct {
		Name   string   `json:"name,omitempty" maxLength:"200"`
		Scopes []string `json:"scopes,omitempty"`
	}
}

type pairingAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Code    string    `json:"code"`
		Token   string    `json:"token" doc:"the long form, for programs"`
		Expires time.Time `json:"expires_at"`
	}
}

func (p People) createCode(ctx context.Context, who identity.Actor, in *pairingRequest) (*pairingAnswer, error) {
	t, err := p.Directory.CreateToken(ctx, who, identity.TokenRequest{Name: in.Body.Name, Scopes: in.Body.Scopes, Pairing: true})
	if err != nil {
		return nil, err
	}
	out := &pairingAnswer{CacheControl: "no-store"}
	out.Body.Code, out.Body.Token, out.Body.Expires = t.Code, t.Secret, t.Expires
	return out, nil
}

type deviceList struct {
	Body struct {
		Devices []identity.Device `json:"devices"`
	}
}

func (p People) listDevices(ctx context.Context, who identity.Actor, _ *struct{}) (*deviceList, error) {
	devices, err := p.Directory.Devices(ctx, who)
	out := &deviceList{}
	out.Body.Devices = devices
	return out, err
}

func (p People) revokeDevice(ctx context.Context, who identity.Actor, in *byID) (*struct{}, error) {
	return nil, p.Directory.RevokeDevice(ctx, who, in.ID)
}

type pageView struct {
	ID        string             `json:"id"`
	Principal identity.Principal `json:"principal"`
	Agent     string             `json:"agent"`
	Current   bool               `json:"current"`
	Created   time.Time          `json:"created_at"`
	Expires   time.Time          `json:"expires_at"`
	LastUsed  time.Time          `json:"last_used_at"`
}

type pageList struct {
	Body struct {
		Browsers []pageView `json:"browsers"`
	}
}

func (p People) listPages(ctx context.Context, who identity.Actor, _ *struct{}) (*pageList, error) {
	pages, err := p.Directory.Pages(ctx, who)
	out := &pageList{}
	out.Body.Browsers = []pageView{}
	for _, pg := range pages {
		out.Body.Browsers = append(out.Body.Browsers, pageView{
			ID: pg.ID, Principal: pg.Principal, Agent: pg.Agent, Current: pg.ID == who.PageID,
			Created: pg.Created, Expires: pg.Expires, LastUsed: pg.LastUsed,
		})
	}
	return out, err
}

func (p People) closePage(ctx context.Context, who identity.Actor, in *byID) (*struct{}, error) {
	return nil, p.Directory.ClosePage(ctx, who, in.ID)
}

type peopleList struct {
	Body struct {
		People []identity.Person `json:"people"`
	}
}

func (p People) listPeople(ctx context.Context, _ identity.Actor, _ *struct{}) (*peopleList, error) {
	people, err := p.Directory.People(ctx)
	out := &peopleList{}
	out.Body.People = people
	return out, err
}

type personRequest struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"64"`
	}
}

type personAnswer struct{ Body identity.Person }

func (p People) addPerson(ctx context.Context, who identity.Actor, in *personRequest) (*personAnswer, error) {
	person, err := p.Directory.AddPerson(ctx, who, in.Body.Name)
	return &personAnswer{person}, err
}
