package hub

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/hub/metrics"
	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp"
)

// placePart is the meeting place.
func (h *Hub) placePart() part {
	return part{
		name: "place", open: h.openPlace, faces: h.openPlaceFace,
		routes: func(routes *front.Routes, rest *api.API) error {
			api.RegisterPlace(rest, h.place, h.placeWarnings)
			for _, rt := range h.placeFace.Routes() {
				routes.Handle(rt, h.placeFace)
			}
			return nil
		},
		count: func(ctx context.Context, _ identity.Actor, counts map[string]int64) error {
			f, err := h.place.Health(ctx)
			counts["place_agents"], counts["place_postings"] = f.Agents, f.Postings
			return err
		},
		drain: func(ctx context.Context) error {
			h.place.Drain()
			return h.placeFace.Close(ctx)
		},
	}
}

func (h *Hub) openPlace(ctx context.Context) error {
	c := h.conf.Place
	caller := faceplace.NewCaller(h.guard)
	p, err := place.New(ctx, place.Deps{
		DB: h.db, Bus: h.bus, Leases: h.leases, Key: h.key, Trail: h.trail, Peers: caller, Log: h.logger, Dir: string(h.folder), AgentsOf: h.placeIDsOf, Clustered: h.conf.NATS != "",
	}, place.Config{
		Name: c.Name, Description: c.Description, Version: h.opts.Version, Auth: place.Auth(h.conf.PlaceAuth()), Static: place.Static(c.StaticProof),
		Anonymize: c.Anonymize, Federation: c.Federation, RegistryTTL: c.RegistryTTL, TokenTTL: c.TokenTTL, PostingTTL: c.PostingTTL,
		RelayTTL: c.RelayTTL, Sync: place.Sync(c.Sync), Hashes: mmp.HashForm(c.HashForm), PostingLimit: c.PostingLimit, DepositLimit: c.DepositLimit, QueueLimit: c.QueueLimit,
	})
	if err != nil {
		return err
	}
	h.place = p
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		caller.Close()
		return p.Close(ctx)
	})
	if h.opts.Quiet {
		return nil
	}
	for _, warning := range h.placeWarnings() {
		h.logger.Warn("the meeting place", "warning", warning)
	}
	return p.Start(ctx)
}

// placeWarnings says when strangers may write here.
func (h *Hub) placeWarnings() []string {
	auth := h.conf.PlaceAuth()
	if auth == "strict" || config.Loopback(h.conf.Listen) && len(h.conf.BehindProxy) == 0 {
		return nil
	}
	return []string{"place.auth is " + auth + ": agents that never proved a key may register, post and send without a token, from anywhere"}
}

func (h *Hub) openPlaceFace(context.Context) error {
	deps := faceplace.Deps{
		Place: h.place, Front: h.front, Log: h.logger, Proxied: len(h.conf.BehindProxy) > 0, Loopback: config.Loopback(h.conf.Listen),
		Addresses: h.placeAddresses(),
	}
	h.placeFace = faceplace.New(deps)
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return h.placeFace.Close(ctx)
	})
	h.metrics.MustRegister(metrics.Place(h.place))
	if h.opts.Quiet {
		return nil
	}
	ring := sync.OnceValues(func() (mmp.Keyring, error) {
		keys, err := h.placeKeys(h.conf.Place.FrontAgent)
		return keys.Ring, err
	})
	h.placeFace.SetMeeting(&place.Core{Ring: ring, Name: h.conf.Place.FrontAgent, Description: "An agent of this hub", Version: h.opts.Version, Now: time.Now})
	return nil
}

// placeAddresses are where the operator says that the hub is.
func (h *Hub) placeAddresses() []string {
	u, err := url.Parse(h.conf.PublicURL)
	if err != nil || u.Host == "" {
		return nil
	}
	return []string{mmp.CalledAt(u.Host)}
}

// placeKeys are the keys of a hosted agent, made when it first needs them.
func (h *Hub) placeKeys(agent string) (mmpagent.Keys, error) {
	path := h.placeKeyPath(agent)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return mmpagent.Keys{}, err
	}
	keys, err := mmpagent.OpenKeys(path, nil)
	if !errors.Is(err, os.ErrNotExist) {
		return keys, err
	}
	// At home and on a visit an agent may need its first keys at the same time: they
	// must be the same, or it is two agents.
	h.makingKeys.Lock()
	defer h.makingKeys.Unlock()
	if keys, err = mmpagent.OpenKeys(path, nil); errors.Is(err, os.ErrNotExist) {
		keys, err = mmpagent.CreateKeys(path)
	}
	return keys, err
}

// placeKeyPath is where the keys of a hosted agent are.
func (h *Hub) placeKeyPath(agent string) string {
	return h.folder.Path(filepath.Join("keys", "place", agent+".pem"))
}

// placeTransport answers calls to this hub's own place without a connection, for
// agents that are hosted here.
func (h *Hub) placeTransport() http.RoundTripper { return h.placeFace.Transport() }
