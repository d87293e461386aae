package hub

import (
	"context"
	"net/http"

	"parley/internal/face/api"
	"parley/internal/notify"
	"parley/internal/publicnet"
)

// notifyPart tells people who are not at the page what needs them.
func (h *Hub) notifyPart() part {
	return part{
		name: "notify", open: h.openNotify,
		routes: func(_ *http.ServeMux, rest *api.API) error {
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
	// Addresses in the settings are the operator's choice and may be inside;
	// those of browsers are other people's and may not.
	configured := &http.Transport{Proxy: http.ProxyFromEnvironment}
	public := &http.Transport{DialContext: publicnet.Guard{}.Dial, ForceAttemptHTTP2: true}
	h.notices, err = notify.Open(ctx, notify.Deps{
		DB: h.db, Inbox: h.inbox, Seed: h.key.Seed(), Targets: h.notifyTargets(ctx), PageStands: h.people.PageStands, URL: h.url,
		Owner: func(ctx context.Context) (string, error) {
			owner, err := h.people.Owner(ctx)
			return owner.ID, err
		},
		Client: &http.Client{Transport: configured}, Push: &http.Client{Transport: public, CheckRedirect: noRedirect}, Logger: h.logger,
	})
	if err != nil {
		return err
	}
	h.onClose(func() error {
		err := h.notices.Close()
		configured.CloseIdleConnections()
		public.CloseIdleConnections()
		return err
	})
	return nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

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
