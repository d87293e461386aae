package role

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/face/front"
	faceroom "parley.internal/internal/face/room"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/room"
	"parley.internal/internal/store"
)

// Room is rooms behind their real face, without the rates that would hide what
// lies behind them. Arguments: a folder, and how many rooms (1).
func Room(ctx context.Context, args []string) (*Server, error) {
	rooms := 1
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return nil, err
		}
		rooms = n
	}
	dir, err := os.MkdirTemp(args[0], "rooms-*")
	if err != nil {
		return nil, err
	}
	h := &roomServer{many: rooms > 1}
	if err := h.open(ctx, filepath.Join(dir, "parley.db")); err != nil {
		return nil, errors.Join(err, h.close())
	}
	for i := range rooms {
		if err := h.openRoom(ctx, i); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	s, err := h.serve(ctx)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return s, nil
}

type roomServer struct {
	many    bool
	db      *store.DB
	bus     bus.Bus
	leases  *lease.Leases
	trail   *audit.Chain
	rooms   *room.Rooms
	face    *faceroom.Face
	speaker room.Connection
	message []byte
}

func (h *roomServer) open(ctx context.Context, path string) (err error) {
	if h.db, err = store.Open(ctx, "sqlite:"+path, store.Options{}); err != nil {
		return err
	}
	h.bus = bus.NewLocal()
	if h.leases, err = lease.Join(ctx, h.db, "bench", lease.Options{Alone: true}); err != nil {
		return err
	}
	if h.trail, err = audit.Open(ctx, h.db, audit.Options{}); err != nil {
		return err
	}
	h.rooms, err = room.New(room.Deps{DB: h.db, Leases: h.leases, Bus: h.bus, Trail: h.trail, Limits: room.Limits{NoRates: true, Idle: time.Hour}})
	if err != nil {
		return err
	}
	return h.rooms.Start(ctx)
}

// openRoom makes a room: a large one for an audience that only listens, or a
// small one for people.
func (h *roomServer) openRoom(ctx context.Context, i int) error {
	policy := map[string]any{"max": 10_000, "humans": map[string]any{"mode": "open"}}
	if !h.many {
		policy["humans"] = map[string]any{"mode": "open", "guestGrant": map[string]any{"perceive": []string{"read-chat"}}}
	}
	doc, err := json.Marshal(policy)
	if err != nil {
		return err
	}
	if _, err := h.rooms.Open(ctx, identity.Hub(), room.OpenRequest{Room: fmt.Sprint("room-", i), Policy: doc}); err != nil {
		return err
	}
	if h.many {
		return nil
	}
	return h.enter(ctx)
}

// enter seats the speaker, whose words everybody gets.
func (h *roomServer) enter(ctx context.Context) (err error) {
	host := identity.Local(identity.Person{ID: "bench", Name: "bench"}).Narrow(identity.Expand(identity.Rooms))
	h.speaker, err = h.rooms.Enter(ctx, room.Entry{Room: "room-0", Link: deaf{}, Origin: "http://127.0.0.1", Actor: &host})
	if err != nil {
		return err
	}
	h.speaker.Receive([]byte(`{"t":"voice","on":true,"name":"speaker"}`))
	// With everything around it, 1 KiB.
	h.message = []byte(`{"t":"send","c":{"k":"app","data":"` + strings.Repeat("x", 1<<10-100) + `"}}`)
	return nil
}

// deaf is a link nobody reads.
type deaf struct{}

func (deaf) Send(*room.Out)    {}
func (deaf) Close(int, string) {}
func (deaf) Admitted()         {}

func (h *roomServer) serve(ctx context.Context) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	door := front.New(front.Deps{Logger: slog.New(slog.DiscardHandler)})
	h.face = faceroom.New(faceroom.Deps{
		Rooms: h.rooms, Front: door,
		// Members are as fast as they can be; what is measured is sending, not cutting.
		Limits: faceroom.Limits{Ping: time.Hour, Silence: 2 * time.Hour},
	})
	routes := front.NewRoutes(door)
	routes.Handle(h.face.Route(), h.face)
	web := &http.Server{Handler: routes, ReadHeaderTimeout: time.Minute}
	var running sync.WaitGroup
	running.Go(func() { _ = web.Serve(l) })
	return &Server{
		Hello: Hello{Addr: l.Addr().String()},
		On:    func(string) { h.speaker.Receive(h.message) },
		Close: func() {
			_ = h.close()
			_ = web.Close()
			running.Wait()
		},
	}, nil
}

func (h *roomServer) close() error {
	ctx := context.Background()
	var errs []error
	if h.speaker != nil {
		h.speaker.Gone()
	}
	if h.rooms != nil {
		errs = append(errs, h.rooms.Shutdown(ctx))
	}
	if h.face != nil {
		h.face.Shut()
	}
	if h.trail != nil {
		errs = append(errs, h.trail.Close())
	}
	if h.leases != nil {
		errs = append(errs, h.leases.Close(ctx))
	}
	if h.db != nil {
		errs = append(errs, h.db.Close())
	}
	return errors.Join(errs...)
}
