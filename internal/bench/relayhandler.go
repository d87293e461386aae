package bench

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"parley.internal/internal/bus"
	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// handled is a place with its handler in this process, without sockets between:
// what is left is the place's own work.
type handled struct {
	db    *store.DB
	bus   bus.Bus
	place *place.Place
	http  http.RoundTripper
	next  atomic.Int64
	blob  string
	hash  string
}

func openHandled(ctx context.Context, path string) (*handled, error) {
	db, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return nil, err
	}
	h := &handled{db: db, bus: bus.NewLocal(), blob: strings.Repeat("QUJDRA==", 140)}
	h.hash = mmp.HashOf(h.blob).Prefixed()
	h.place, err = place.New(ctx, place.Deps{DB: db, Bus: h.bus, Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))}, place.Config{Auth: place.TOFU})
	if err != nil {
		return nil, errors.Join(err, h.bus.Close(), db.Close())
	}
	h.http = faceplace.New(faceplace.Deps{Place: h.place, Loopback: true}).Transport()
	return h, h.place.Start(ctx)
}

func (h *handled) close() {
	_ = h.place.Close(context.Background())
	_ = h.bus.Close()
	_ = h.db.Close()
}

// send keeps every queue below its limit.
func (h *handled) send(ctx context.Context) error {
	body := `{"from":"ada","to":"q` + strconv.FormatInt(h.next.Add(1)/90, 10) + `","encrypted_blob":"` + h.blob + `","blob_hash":"` + h.hash + `","message_type":"bench"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/place/v1/relay/send", strings.NewReader(body))
	if err != nil {
		return err
	}
	res, err := h.http.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("%d %s", res.StatusCode, text)
	}
	return nil
}

// relayHandler measures sends without HTTP.
func relayHandler(ctx context.Context, env *Env, d *disk) ([]Result, error) {
	dir := filepath.Join(env.Dir, "handled")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	h, err := openHandled(ctx, filepath.Join(dir, "handled.db"))
	if err != nil {
		return nil, err
	}
	defer h.close()
	var results []Result
	for _, f := range inFlight {
		w := writing{inFlight: f.n, write: func(int) error { return h.send(ctx) }}
		r, err := w.against(env, d, fmt.Sprintf("send, %d in flight", f.n), f.least)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}
