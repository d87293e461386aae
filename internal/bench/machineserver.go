package bench

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/internal/audit"
	"parley/internal/bus"
	"parley/internal/face/front"
	"parley/internal/face/tunnel"
	"parley/internal/fleet"
	"parley/internal/identity"
	"parley/internal/lease"
	"parley/internal/store"
	"parley/internal/wsconn"
	"parley/protocol/kenny"
)

// machineKey is the key of a simulated machine; both sides make it from the number.
func machineKey(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "parley bench machine %d", i))
	return ed25519.NewKeyFromSeed(seed[:])
}

func machineName(i int) string { return fmt.Sprintf("bench-%05d", i) }

// machineHub is the role: the machines' part of a hub, its tunnel, and a path that
// makes one call. Arguments: a folder and how many machines to enrol.
func machineHub(ctx context.Context, args []string) (*server, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, args[0], store.Options{})
	if err != nil {
		return nil, err
	}
	local := bus.NewLocal()
	key := machineKey(-1)
	leases, err := lease.Join(ctx, db, "bench", lease.Options{Alone: true})
	if err != nil {
		return nil, err
	}
	trail, err := audit.Open(ctx, db, audit.Options{Key: key})
	if err != nil {
		return nil, err
	}
	f, err := fleet.New(fleet.Deps{DB: db, Bus: local, Leases: leases, Audit: trail, Key: key, Alone: true})
	if err != nil {
		return nil, err
	}
	if err := f.Start(ctx); err != nil {
		return nil, err
	}
	if err := enrolAll(ctx, f, n); err != nil {
		return nil, err
	}
	return serveMachines(ctx, f, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _, _, _, _ = f.Close(ctx), trail.Close(), leases.Close(ctx), local.Close(), db.Close() // the process ends
	})
}

func operator() fleet.Caller { return fleet.Caller{Session: identity.Hub(), Surface: fleet.SurfaceHub} }

// enrolAll makes the machines known, by the same steps as any others.
func enrolAll(ctx context.Context, f *fleet.Fleet, n int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for i := range n {
		g.Go(func() error {
			minted, err := f.Mint(ctx, operator(), fleet.MintRequest{Machine: machineName(i)})
			if err != nil {
				return err
			}
			public, _ := machineKey(i).Public().(ed25519.PublicKey)
			return f.Enrol(ctx, fleet.EnrolRequest{Machine: machineName(i), Token: minted.Token, PublicKey: kenny.FormatPublicKey(public)})
		})
	}
	return g.Wait()
}

func serveMachines(ctx context.Context, f *fleet.Fleet, closeAll func()) (*server, error) {
	guard, err := wsconn.NewOriginPolicy(wsconn.OriginConfig{Listen: []string{"127.0.0.1:1"}})
	if err != nil {
		return nil, err
	}
	door := front.New(front.Deps{Guard: guard, Logger: slog.New(slog.DiscardHandler)})
	face := tunnel.New(tunnel.Deps{Fleet: f, Front: door, Limits: tunnel.Limits{PerAddress: 1 << 20, Total: 1 << 20, Failures: 1 << 20}})
	mux := http.NewServeMux()
	face.Routes(mux)
	mux.HandleFunc("GET /bench/call/{id}", func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		if _, err := f.Call(r.Context(), operator(), fleet.CallRequest{Machine: r.PathValue("id"), Tool: "net_config"}); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, int64(time.Since(began)))
	})
	mux.HandleFunc("GET /bench/stored", func(w http.ResponseWriter, r *http.Request) {
		o, err := f.Overview(r.Context(), operator(), fleet.ListQuery{Limit: 1})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, o.Counts.OK)
	})
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: door.Wrap(mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // it ends with the process
	return &server{hello: hello{Addr: l.Addr().String()}, close: func() {
		_ = srv.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = face.Close(ctx)
		closeAll()
	}}, nil
}
