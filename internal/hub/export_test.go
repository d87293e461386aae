package hub

import (
	"context"
	"net/http"
)

// FetchKeys is how rooms read the key set of an address.
func (h *Hub) FetchKeys(ctx context.Context, url string) ([]byte, error) {
	return h.fetchKeys(ctx, url)
}

// Webhooks is the client of addresses in the settings.
func (h *Hub) Webhooks() *http.Client { return h.webhooks() }

// Lock is the data folder's.
func (f Folder) Lock() (unlock func(), err error) { return f.lock() }
