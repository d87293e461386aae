package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// RegisterPasskeys adds passkeys: a person's own, and logging in by one. The
// second half of a login is POST /api/session with {"passkey": …}.
func RegisterPasskeys(a *API, p People) {
	manage := access{Scope: identity.DeviceManage, Tag: "people"}
	add(a, manage, rest.ListPasskeys, p.listPasskeys)
	add(a, manage, rest.BeginPasskey, p.beginPasskey)
	addBody(a, manage, rest.AddPasskey, p.finishPasskey)
	add(a, manage, rest.RemovePasskey, p.removePasskey)
	add(a, access{Public: true, PerMinute: 60, Tag: "session"}, rest.BeginPasskeyLogin, p.beginLogin)
}

func (p People) beginPasskey(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Ceremony, error) {
	keepNowhere(ctx)
	c, err := p.Passkeys.BeginRegister(ctx, who)
	return rest.Ceremony(c), err
}

// beginLogin writes a row before anybody is known, so its route has a rate.
func (p People) beginLogin(ctx context.Context, _ identity.Actor, _ *rest.None) (rest.Ceremony, error) {
	keepNowhere(ctx)
	c, err := p.Passkeys.BeginLogin(ctx)
	return rest.Ceremony(c), err
}

func (p People) finishPasskey(ctx context.Context, who identity.Actor, in *rest.PasskeyRequest) (rest.Passkey, error) {
	made, err := p.Passkeys.FinishRegister(ctx, who, in.Ceremony, in.Name, in.Response)
	return viewPasskey(made), err
}

func viewPasskey(k identity.Passkey) rest.Passkey {
	return rest.Passkey{
		ID: k.ID, Name: k.Name, Principal: viewPrincipal(k.Principal), Scopes: k.Scopes.Sorted(), Created: k.Created, LastUsed: k.LastUsed, Expires: k.Expires,
	}
}

func (p People) listPasskeys(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Passkeys, error) {
	list, err := p.Passkeys.List(ctx, who)
	return rest.Passkeys{Passkeys: each(list, viewPasskey)}, err
}

func (p People) removePasskey(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.None, error) {
	return rest.None{}, p.Passkeys.Remove(ctx, who, in.ID)
}
