package api

import (
	"context"
	"net/http"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// RegisterTokens adds tokens, people, devices and logged-in browsers.
func RegisterTokens(a *API, p People) {
	people := func(scope string) access { return access{Scope: scope, Tag: "people"} }
	manage := people(identity.DeviceManage)
	addBody(a, manage, rest.CreateToken, p.createToken)
	add(a, manage, rest.ListTokens, p.listTokens)
	add(a, manage, rest.RevokeToken, p.revokeToken)
	add(a, manage, rest.RotateToken, p.rotateToken)
	addBody(a, manage, rest.CreateLoginLink, p.createLink)
	addBody(a, manage, rest.CreatePairing, p.createCode)
	add(a, manage, rest.ListDevices, p.listDevices)
	add(a, manage, rest.RevokeDevice, p.revokeDevice)
	add(a, manage, rest.ListBrowsers, p.listPages)
	add(a, manage, rest.CloseBrowser, p.closePage)
	add(a, people(identity.StatusRead), rest.ListPeople, p.listPeople)
	addBody(a, people(identity.Admin), rest.AddPerson, p.addPerson)
}

// each shows every one of a list; an empty list is one, too.
func each[Of, As any](list []Of, show func(Of) As) []As {
	out := make([]As, len(list))
	for i, one := range list {
		out[i] = show(one)
	}
	return out
}

func viewPrincipal(p identity.Principal) rest.Principal {
	return rest.Principal{Kind: string(p.Kind), ID: p.ID, Name: p.Name}
}

func (p People) createToken(ctx context.Context, who identity.Actor, in *rest.TokenRequest) (rest.NewToken, error) {
	req := identity.TokenRequest{
		Name: in.Name, Role: identity.Role(in.Role), Scopes: in.Scopes,
		Principal: in.Principal, Pairing: in.Pairing,
	}
	if in.TTL != "" {
		ttl, err := time.ParseDuration(in.TTL)
		if err != nil || ttl < time.Second {
			return rest.NewToken{}, front.NewProblem(http.StatusBadRequest, "bad_request", "ttl must be a duration of at least 1s, such as 24h", err)
		}
		req.TTL = ttl
	}
	keepNowhere(ctx)
	t, err := p.Directory.CreateToken(ctx, who, req)
	return rest.NewToken{ID: t.ID, Token: t.Secret, Code: t.Code, Scopes: t.Scopes.Sorted(), Expires: t.Expires}, err
}

func viewToken(t identity.Token) rest.Token {
	return rest.Token{
		ID: t.ID, Name: t.Name, Kind: string(t.Kind), Role: string(t.Role), Scopes: t.Scopes.Sorted(), Principal: viewPrincipal(t.Principal), Device: t.Device,
		Created: t.Created, Expires: t.Expires, LastUsed: t.LastUsed, Revoked: t.Revoked, Maker: t.Maker(),
	}
}

func (p People) listTokens(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Tokens, error) {
	tokens, err := p.Directory.Tokens(ctx, who)
	return rest.Tokens{Tokens: each(tokens, viewToken)}, err
}

func (p People) revokeToken(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.None, error) {
	return rest.None{}, p.Directory.Revoke(ctx, who, in.ID)
}

func (p People) rotateToken(ctx context.Context, who identity.Actor, in *rest.Rotation) (rest.Rotated, error) {
	keepNowhere(ctx)
	t, err := p.Directory.Rotate(ctx, who, in.ID, in.Body != nil && in.Body.Renew)
	return rest.Rotated{ID: t.ID, Token: t.Secret, Expires: t.Expires, OldValidUntil: t.OldValidUntil}, err
}

func (p People) createLink(ctx context.Context, who identity.Actor, in *rest.LoginLinkRequest) (rest.LoginLink, error) {
	keepNowhere(ctx)
	link, err := p.Directory.CreateLink(ctx, who, identity.LinkRequest{Principal: in.Principal, Scopes: in.Scopes})
	return rest.LoginLink{Path: LoginPath(link.Secret), Expires: link.Expires}, err
}

// LoginPath is where a login link points to: the secret is in the fragment,
// which browsers send to nobody.
func LoginPath(secret string) string { return "/#login=" + secret }

func (p People) createCode(ctx context.Context, who identity.Actor, in *rest.PairingRequest) (rest.Pairing, error) {
	keepNowhere(ctx)
	t, err := p.Directory.CreateToken(ctx, who, identity.TokenRequest{Name: in.Name, Scopes: in.Scopes, Pairing: true})
	return rest.Pairing{Code: t.Code, Token: t.Secret, Expires: t.Expires}, err
}

func viewDevice(d identity.Device) rest.Device {
	return rest.Device{ID: d.ID, Name: d.Name, Principal: viewPrincipal(d.Principal), PublicKey: d.PublicKey, Created: d.Created, LastSeen: d.LastSeen, Revoked: d.Revoked}
}

func (p People) listDevices(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Devices, error) {
	devices, err := p.Directory.Devices(ctx, who)
	return rest.Devices{Devices: each(devices, viewDevice)}, err
}

func (p People) revokeDevice(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.None, error) {
	return rest.None{}, p.Directory.RevokeDevice(ctx, who, in.ID)
}

func (p People) listPages(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Browsers, error) {
	pages, err := p.Directory.Pages(ctx, who)
	return rest.Browsers{Browsers: each(pages, func(pg identity.Page) rest.Browser {
		return rest.Browser{
			ID: pg.ID, Principal: viewPrincipal(pg.Principal), Agent: pg.Agent, Current: pg.ID == who.PageID,
			Created: pg.Created, Expires: pg.Expires, LastUsed: pg.LastUsed,
		}
	})}, err
}

func (p People) closePage(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.None, error) {
	return rest.None{}, p.Directory.ClosePage(ctx, who, in.ID)
}

func viewPerson(p identity.Person) rest.Person { return rest.Person(p) }

func (p People) listPeople(ctx context.Context, _ identity.Actor, _ *rest.None) (rest.People, error) {
	people, err := p.Directory.People(ctx)
	return rest.People{People: each(people, viewPerson)}, err
}

func (p People) addPerson(ctx context.Context, who identity.Actor, in *rest.PersonRequest) (rest.Person, error) {
	person, err := p.Directory.AddPerson(ctx, who, in.Name)
	return viewPerson(person), err
}
