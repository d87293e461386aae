package api

import (
	"context"
	"encoding/json"
	"net/http"

	"parley/internal/identity"
)

// RegisterPasskeys adds passkeys: a person's own, and logging in by one. The
// second half of a login is POST /api/session with {"passkey": …}.
func RegisterPasskeys(a *API, p People) {
	manage := func(method, path, summary string, status int) route {
		return route{Method: method, Path: path, Scope: identity.DeviceManage, Tag: "people", Summary: summary, Status: status}
	}
	add(a, manage("GET", "/api/passkeys", "List your passkeys", 0), p.listPasskeys)
	add(a, manage("POST", "/api/passkeys/begin", "Begin to add a passkey", 0), p.beginPasskey)
	add(a, manage("POST", "/api/passkeys", "Add the passkey the browser made", http.StatusCreated), p.finishPasskey)
	add(a, manage("DELETE", "/api/passkeys/{id}", "Remove a passkey", http.StatusNoContent), p.removePasskey)
	add(a, route{Method: "POST", Path: "/api/session/passkey", Public: true, PerMinute: 60, Tag: "session", Summary: "Begin to log in by passkey"}, p.beginLogin)
}

// passkeyProof is a browser's answer to a ceremony.
type passkeyProof struct {
	Ceremony string          `json:"ceremony"`
	Response json.RawMessage `json:"response" doc:"what navigator.credentials gave, as JSON"`
}

type ceremonyAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         identity.Ceremony
}

func ceremony(c identity.Ceremony, err error) (*ceremonyAnswer, error) {
	return &ceremonyAnswer{CacheControl: "no-store", Body: c}, err
}

func (p People) beginPasskey(ctx context.Context, who identity.Actor, _ *struct{}) (*ceremonyAnswer, error) {
	return ceremony(p.Passkeys.BeginRegister(ctx, who))
}

// beginLogin writes a row before anybody is known, so its route has a rate.
func (p People) beginLogin(ctx context.Context, _ identity.Actor, _ *struct{}) (*ceremonyAnswer, error) {
	return ceremony(p.Passkeys.BeginLogin(ctx))
}

type newPasskey struct {
	// The members of a passkeyProof, written out: the schema does not see an
	// embedded type that is not exported.
	Body struct {
		Ceremony string          `json:"ceremony"`
		Response json.RawMessage `json:"response" doc:"what navigator.credentials gave, as JSON"`
		Name     string          `json:"name" maxLength:"200"`
	}
}

type passkeyAnswer struct{ Body identity.Passkey }

func (p People) finishPasskey(ctx context.Context, who identity.Actor, in *newPasskey) (*passkeyAnswer, error) {
	made, err := p.Passkeys.FinishRegister(ctx, who, in.Body.Ceremony, in.Body.Name, in.Body.Response)
	return &passkeyAnswer{made}, err
}

type passkeyList struct {
	Body struct {
		Passkeys []identity.Passkey `json:"passkeys"`
	}
}

func (p People) listPasskeys(ctx context.Context, who identity.Actor, _ *struct{}) (*passkeyList, error) {
	list, err := p.Passkeys.List(ctx, who)
	out := &passkeyList{}
	out.Body.Passkeys = list
	return out, err
}

func (p People) removePasskey(ctx context.Context, who identity.Actor, in *byID) (*struct{}, error) {
	return nil, p.Passkeys.Remove(ctx, who, in.ID)
}
