package role

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/face/front"
	"parley.internal/internal/face/tunnel"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kenny"
)

// MachineKey is the key of a simulated machine; both sides make it from the number.
func MachineKey(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "parley bench machine %d", i))
	return ed25519.NewKeyFromSeed(seed[:])
}

// MachineName is the id of the i-th simulated machine.
func MachineName(i int) string { return fmt.Sprintf("bench-%05d", i) }

// Machines is the role: the machines' part of a hub, its tunnel, and a path that
// makes one call. Arguments: a database and how many machines to enrol; for one of
// several hubs also NATS servers and its name; and the address to listen at.
func Machines(ctx context.Context, args []string) (*Server, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	h := &machineServer{name: "bench", listen: "127.0.0.1:0"}
	if len(args) > 3 {
		h.nats, h.name = args[2], args[3]
	}
	if len(args) > 4 {
		h.listen = args[4]
	}
	if err := h.open(ctx, args[0]); err != nil {
		return nil, errors.Join(err, h.close())
	}
	if err := enrolAll(ctx, h.fleet, n); err != nil {
		return nil, errors.Join(err, h.close())
	}
	s, err := h.serve(ctx)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return s, nil
}

type machineServer struct {
	name, nats, listen string

	db     *store.DB
	bus    bus.Bus
	leases *lease.Leases
	trail  *audit.Chain
	fleet  *fleet.Fleet
}

func (h *machineServer) open(ctx context.Context, target string) (err error) {
	if h.db, err = store.Open(ctx, target, store.Options{}); err != nil {
		return err
	}
	alone := h.nats == ""
	if alone {
		h.bus = bus.NewLocal()
	} else if h.bus, err = bus.ConnectNATS(ctx, bus.NATSConfig{
		Servers: bus.Servers{URLs: h.nats}, Secret: benchSecret(target), Name: h.name,
	}); err != nil {
		return err
	}
	if h.leases, err = lease.Join(ctx, h.db, h.name, lease.Options{Alone: alone}); err != nil {
		return err
	}
	key := MachineKey(-1)
	if h.trail, err = audit.Open(ctx, h.db, audit.Options{Key: key}); err != nil {
		return err
	}
	if h.fleet, err = fleet.New(fleet.Deps{DB: h.db, Bus: h.bus, Leases: h.leases, Audit: h.trail, Key: key, Alone: alone}); err != nil {
		return err
	}
	return h.fleet.Start(ctx)
}

// benchSecret is the same in all processes of one run, which share the name of a
// database that is made up for it. It protects nothing.
func benchSecret(target string) []byte {
	sum := sha256.Sum256([]byte("parley bench bus " + target))
	return sum[:]
}

func (h *machineServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	if h.fleet != nil {
		errs = append(errs, h.fleet.Close(ctx))
	}
	if h.trail != nil {
		errs = append(errs, h.trail.Close())
	}
	if h.leases != nil {
		errs = append(errs, h.leases.Close(ctx))
	}
	if h.bus != nil {
		errs = append(errs, h.bus.Close())
	}
	if h.db != nil {
		errs = append(errs, h.db.Close())
	}
	return errors.Join(errs...)
}

func operator() identity.Actor { return identity.Hub() }

// enrolAll makes the machines known, by the same steps as any others.
func enrolAll(ctx context.Context, f *fleet.Fleet, n int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for i := range n {
		g.Go(func() error {
			minted, err := f.Mint(ctx, operator(), fleet.MintRequest{Machine: MachineName(i)})
			if err != nil {
				return err
			}
			public, _ := MachineKey(i).Public().(ed25519.PublicKey)
			return f.Enrol(ctx, fleet.EnrolRequest{Machine: MachineName(i), Token: minted.Token, PublicKey: kenny.FormatPublicKey(public)})
		})
	}
	return g.Wait()
}

// serve opens the tunnel. Everybody comes from the same few addresses here; what
// bounds a hub as a whole is as everywhere.
func (h *machineServer) serve(ctx context.Context) (*Server, error) {
	f := h.fleet
	guard, err := wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}})
	if err != nil {
		return nil, err
	}
	door := front.New(front.Deps{Guard: guard, Logger: slog.New(slog.DiscardHandler)})
	face := tunnel.New(tunnel.Deps{Fleet: f, Front: door, Limits: tunnel.Limits{PerAddress: 1 << 20, Failures: 1 << 20}})
	routes := front.NewRoutes(door)
	face.Routes(routes)
	routes.HandleFunc(front.Route{Pattern: "GET /bench/call/{id}", Who: front.Stranger}, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		if _, err := f.Call(r.Context(), operator(), call.Request{Machine: r.PathValue("id"), Tool: "net_config"}); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, int64(time.Since(began)))
	})
	routes.HandleFunc(front.Route{Pattern: "GET /bench/stored", Who: front.Stranger}, func(w http.ResponseWriter, r *http.Request) {
		var n int
		err := h.db.Read(r.Context(), func(tx *store.Tx) error { return tx.QueryRow(`SELECT COUNT(*) FROM fleet_latest`).Scan(&n) })
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, n)
	})
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", h.listen)
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: door.Wrap(routes), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // it ends with the process
	return &Server{Hello: Hello{Addr: l.Addr().String()}, Close: func() {
		_ = srv.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = face.Close(ctx)
		_ = h.close() // the process ends
	}}, nil
}
