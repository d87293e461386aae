package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/embed"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	faceroom "parley.internal/internal/face/room"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/internal/room/ice"
	"parley.internal/internal/room/seat"
	"parley.internal/internal/room/vouch"
)

// roomPart is rooms.
func (h *Hub) roomPart() part {
	return part{
		name: "room", open: h.openRooms, faces: h.openRoomFace,
		routes: func(routes *front.Routes, rest *api.API) error {
			api.RegisterRooms(rest, h.rooms, h.seats, h.people, h.websites)
			api.RegisterRoomFiles(rest, h.rooms, h.files)
			api.RegisterRoomSeats(rest, h.rooms, h.seats)
			routes.Handle(h.roomFace.Route(), h.roomFace)
			return nil
		},
		count: func(_ context.Context, _ identity.Actor, counts map[string]int64) error {
			s := h.rooms.Stats()
			counts["rooms_live"], counts["room_members"] = int64(s.Rooms), int64(s.Members)
			return nil
		},
		drain: func(ctx context.Context) error {
			return errors.Join(h.seats.Shutdown(ctx), h.rooms.Shutdown(ctx), h.roomFace.Close(ctx))
		},
	}
}

func (h *Hub) openRooms(ctx context.Context) error {
	servers, err := h.openICE(ctx)
	if err != nil {
		return err
	}
	rooms, err := room.New(room.Deps{
		ICE: servers,
		DB:  h.db, Leases: h.leases, Bus: h.bus, Trail: h.trail, Fetch: h.fetchKeys, People: h.people, Log: h.logger, Clustered: h.conf.NATS != "",
	})
	if err != nil {
		return err
	}
	if err := rooms.Start(ctx); err != nil {
		return err
	}
	h.rooms = rooms
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace)
		defer cancel()
		return errors.Join(h.seats.Shutdown(ctx), rooms.Shutdown(ctx))
	})
	h.openSeats(ctx)
	return nil
}

// openICE knows the servers that help links through NAT, and starts the hub's own.
func (h *Hub) openICE(ctx context.Context) (*ice.Servers, error) {
	conf := h.conf.Rooms
	var relay *ice.Relay
	if t := conf.TURN; t.Listen != "" && !h.opts.Quiet {
		listen, err := netip.ParseAddrPort(t.Listen)
		if err != nil {
			return nil, err
		}
		first, last, err := t.PortRange()
		if err != nil {
			return nil, err
		}
		address, _ := netip.ParseAddr(t.Address) // none: the one it listens on
		relay, err = ice.Listen(ctx, ice.RelaySettings{Listen: listen, Address: address, FirstPort: first, LastPort: last, Allow: config.Networks(t.Peers)})
		if err != nil {
			return nil, err
		}
		h.onClose(relay.Close)
		h.relay = relay
	}
	servers, err := ice.New(conf.ICE, conf.ICESecret, relay)
	if err != nil {
		return nil, fmt.Errorf("rooms.ice: %w", err)
	}
	return servers, nil
}

// openSeats seats the hub's own agents in rooms.
func (h *Hub) openSeats(ctx context.Context) {
	h.seats = seat.New(seat.Deps{DB: h.db, Leases: h.leases, Rooms: h.rooms, People: h.people, Log: h.logger, Mind: &seat.Brain{
		Rules: h.approvalRules(ctx), Audit: h.trail,
		Agents: h.minds.agents, Models: h.minds.models, Ledger: h.minds.ledger, Mask: h.mask, Workspace: h.folderOf,
		Tools: func(ctx context.Context, agent *brain.Agent, names []string) ([]*tool.Tool, error) {
			return h.minds.toolsFor(ctx, agent, names, "", true)
		},
	}})
	if !h.opts.Quiet {
		h.seats.Start()
	}
}

func (h *Hub) openRoomFace(context.Context) error {
	h.roomFace = faceroom.New(faceroom.Deps{Rooms: h.rooms, People: h.people, Front: h.front, PublicURL: h.conf.PublicURL, Log: h.logger})
	h.roomMetrics()
	h.onClose(func() error {
		h.roomFace.Shut()
		return nil
	})
	return nil
}

// roomMetrics counts; nothing names a room or a participant.
func (h *Hub) roomMetrics() {
	gauge := func(name, help string, value func(room.Stats) int) {
		h.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value(h.rooms.Stats())) }))
	}
	gauge("parley_rooms_live", "Rooms this hub has in memory.", func(s room.Stats) int { return s.Rooms })
	gauge("parley_room_connections", "Connections to rooms, of whichever hub, on this hub.", func(s room.Stats) int { return s.Connections })
	gauge("parley_room_members", "Connections that are in a room.", func(s room.Stats) int { return s.Members })
	if h.relay != nil {
		gauge("parley_turn_relays", "Relays that the hub's TURN server has open.", func(room.Stats) int { return h.relay.Relays() })
	}
	h.metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "parley_room_slow_total", Help: "Connections to rooms that were cut because they did not read.",
	}, func() float64 { return float64(h.roomFace.Slow()) }))
}

// websiteErrors are refusals of listing a website.
var websiteErrors = []front.Mapping{
	{Is: embed.ErrBadOrigin, Status: http.StatusBadRequest, Code: "bad_origin"}, {Is: embed.ErrNotListed, Status: http.StatusNotFound, Code: "not_found"},
}

// keyTime is how long a key server may take.
const keyTime = 5 * time.Second

// fetchKeys reads a key set. Whoever opens a room names its key server.
func (h *Hub) fetchKeys(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := h.outside.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the key server answered %s", res.Status)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, vouch.MaxKeySet+1))
	if err == nil && len(data) > vouch.MaxKeySet {
		err = errors.New("the key set is too large")
	}
	return data, err
}
