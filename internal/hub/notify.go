package hub

import (
	"context"

	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	"parley.internal/internal/notify"
	"parley.internal/internal/publicnet"
)

// notifyPart tells people who are not at the page what needs them.
func (h *Hub) notifyPart() part {
	return part{
		name: "notify", open: h.openNotify,
		routes: func(_ *front.Routes, rest *api.API) error {
			if h.notices != nil {
				api.RegisterPush(rest, h.notices)
			}
			return nil
		},
	}
}

func (h *Hub) openNotify(ctx context.Context) (err error) {
	if h.opts.Quiet {
		return nil // a single command tells nobody
	}
	// Browsers' addresses are other people's: the settings open nothing for them.
	webhooks, push := h.webhooks(), publicnet.Guard{Lookup: h.opts.Lookup}.Client(0)
	h.notices, err = notify.Open(ctx, notify.Deps{
		DB: h.db, Inbox: h.inbox, Seed: h.key.Seed(), Targets: h.notifyTargets(ctx), PageStands: h.people.PageStands, URL: h.url,
		Owner: func(ctx context.Context) (string, error) {
			owner, err := h.people.Owner(ctx)
			return owner.ID, err
		},
		Client: webhooks, Push: push, Logger: h.logger,
	})
	if err != nil {
		return err
	}
	h.onClose(func() error {
		err := h.notices.Close()
		webhooks.CloseIdleConnections()
		push.CloseIdleConnections()
		return err
	})
	return nil
}

// notifyTargets finds the people the settings name.
func (h *Hub) notifyTargets(ctx context.Context) []notify.Target {
	targets := make([]notify.Target, len(h.conf.Notify))
	for i, t := range h.conf.Notify {
		targets[i] = notify.Target{Person: t.Person, Webhook: t.Webhook, Ntfy: t.Ntfy, Secret: t.Secret + t.Token}
		if t.Person == "" {
			continue
		}
		person, err := h.people.Person(ctx, t.Person)
		if err != nil {
			h.logger.Warn("notify: there is no such person yet; restart the hub once there is", "person", t.Person)
			continue
		}
		targets[i].Person = person.ID
	}
	return targets
}
