package hub

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"

	"parley.internal/internal/hub/config"
	"parley.internal/internal/publicnet"
)

// openOutside makes the one way to addresses that came from outside. Who named an
// address is no reason to trust it: tokens are also held by scripts and by models.
// What the operator wants reached inside is in the settings, by hand.
func (h *Hub) openOutside(context.Context) error {
	h.guard = publicnet.Guard{Allow: config.Networks(h.conf.Net.AllowPrivate), Lookup: h.opts.Lookup}
	h.outside = h.guard.Client(0)
	h.onClose(func() error {
		h.outside.CloseIdleConnections()
		return nil
	})
	return nil
}

// webhooks is the client of those who are told of news.
func (h *Hub) webhooks() *http.Client {
	var addresses []string
	for _, t := range h.conf.Notify {
		addresses = append(addresses, t.Webhook+t.Ntfy)
	}
	return h.clientOf(addresses...)
}

// clientOf is the client of addresses in the settings. One that is written out there
// may be inside; a name must lead where all others may.
func (h *Hub) clientOf(addresses ...string) *http.Client {
	guard := h.guard
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			continue // the settings have been checked
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			guard.Named = append(guard.Named, a)
		}
	}
	return guard.Client(0)
}
