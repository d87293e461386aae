package api

import (
	"context"
	"errors"
	"net/http"

	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/internal/notify"
)

// RegisterPush lets a page be told while it is closed.
func RegisterPush(a *API, n *notify.Notices) {
	p := pushRoutes{n}
	add(a, route{Method: "GET", Path: "/api/push", Scope: identity.ApprovalRead, Tag: "inbox", Summary: "The key a browser subscribes to push messages with"}, p.key)
	add(a, route{Method: "POST", Path: "/api/push/subscriptions", Scope: identity.ApprovalRead, Tag: "inbox", Summary: "Tell this browser what waits; ends with the login", Status: 204}, p.subscribe)
	add(a, route{Method: "DELETE", Path: "/api/push/subscriptions", Scope: identity.ApprovalRead, Tag: "inbox", Summary: "Tell this browser nothing any more", Status: 204}, p.unsubscribe)
}

type pushRoutes struct{ notices *notify.Notices }

type pushKeyAnswer struct {
	Body struct {
		PublicKey string `json:"public_key"`
	}
}

func (p pushRoutes) key(context.Context, identity.Actor, *struct{}) (*pushKeyAnswer, error) {
	out := &pushKeyAnswer{}
	out.Body.PublicKey = p.notices.PublicKey()
	return out, nil
}

type pushSubscribe struct {
	Body struct {
		Endpoint string `json:"endpoint" maxLength:"2000"`
		P256dh   string `json:"p256dh" maxLength:"200"`
		Auth     string `json:"auth" maxLength:"100"`
	}
}

func (p pushRoutes) subscribe(ctx context.Context, who identity.Actor, in *pushSubscribe) (*struct{}, error) {
	err := p.notices.Subscribe(ctx, who, notify.Subscription{Endpoint: in.Body.Endpoint, P256dh: in.Body.P256dh, Auth: in.Body.Auth})
	if errors.Is(err, notify.ErrSubscription) || errors.Is(err, notify.ErrNoPage) {
		err = front.NewProblem(http.StatusBadRequest, "bad_request", err.Error(), err)
	}
	return nil, err
}

type pushUnsubscribe struct {
	Endpoint string `query:"endpoint" required:"true" maxLength:"2000"`
}

func (p pushRoutes) unsubscribe(ctx context.Context, who identity.Actor, in *pushUnsubscribe) (*struct{}, error) {
	return nil, p.notices.Unsubscribe(ctx, who, in.Endpoint)
}
