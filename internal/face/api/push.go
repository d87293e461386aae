package api

import (
	"context"
	"errors"
	"net/http"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/notify"
	"parley.internal/protocol/rest"
)

// RegisterPush lets a page be told while it is closed.
func RegisterPush(a *API, n *notify.Notices) {
	p := pushRoutes{n}
	inbox := access{Scope: identity.ApprovalRead, Tag: "inbox"}
	add(a, inbox, rest.PushKey, p.key)
	addBody(a, inbox, rest.SubscribeToPush, p.subscribe)
	add(a, inbox, rest.UnsubscribeToPush, p.unsubscribe)
}

type pushRoutes struct{ notices *notify.Notices }

func (p pushRoutes) key(context.Context, identity.Actor, *rest.None) (rest.PushPublicKey, error) {
	return rest.PushPublicKey{PublicKey: p.notices.PublicKey()}, nil
}

func (p pushRoutes) subscribe(ctx context.Context, who identity.Actor, in *rest.PushSubscription) (rest.None, error) {
	err := p.notices.Subscribe(ctx, who, notify.Subscription{Endpoint: in.Endpoint, P256dh: in.P256dh, Auth: in.Auth})
	if errors.Is(err, notify.ErrSubscription) || errors.Is(err, notify.ErrNoPage) {
		err = front.NewProblem(http.StatusBadRequest, "bad_request", err.Error(), err)
	}
	return rest.None{}, err
}

func (p pushRoutes) unsubscribe(ctx context.Context, who identity.Actor, in *rest.PushEndpoint) (rest.None, error) {
	return rest.None{}, p.notices.Unsubscribe(ctx, who, in.Endpoint)
}
