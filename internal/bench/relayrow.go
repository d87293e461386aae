package bench

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/bus"
	faceplace "parley/internal/face/place"
	"parley/internal/place"
	"parley/internal/store"
	"parley/protocol/mmp"
)

// relayRow: sealed messages at the meeting place.
func relayRow() Row {
	return Row{Name: "relay", What: "a sealed message of 1.1 kB queued durably, through the place's handler, against append + flush of the bare disk", Run: runRelay}
}

// relayed is a place with its handler, without sockets between.
type relayed struct {
	db    *store.DB
	bus   bus.Bus
	place *place.Place
	http  http.RoundTripper
	blob  string
	next  atomic.Int64
}

func openRelay(ctx context.Context, path string) (*relayed, error) {
	db, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return nil, err
	}
	r := &relayed{db: db, bus: bus.NewLocal(), blob: strings.Repeat("QUJDRA==", 140)}
	r.place, err = place.New(ctx, place.Deps{DB: db, Bus: r.bus, Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))}, place.Config{Auth: place.Open, MaxUnknown: 1 << 40, MaxAgents: 1 << 40})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	r.http = faceplace.New(faceplace.Deps{Place: r.place, Loopback: true}).Transport()
	return r, r.place.Start(ctx)
}

func (r *relayed) close() {
	_ = r.place.Close(context.Background())
	_ = r.bus.Close()
	_ = r.db.Close()
}

func (r *relayed) call(ctx context.Context, method, path, body string, want int) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	res, err := r.http.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != want {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return nil
}

func (r *relayed) send(ctx context.Context, to string) error {
	body := `{"from":"ada","to":"` + to + `","encrypted_blob":"` + r.blob + `","blob_hash":"` + mmp.HashOf(r.blob).Bare() + `","message_type":"bench"}`
	return r.call(ctx, "POST", "/place/v1/relay/send", body, http.StatusCreated)
}

func (r *relayed) receive(ctx context.Context, who string) error {
	return r.call(ctx, "GET", "/place/v1/relay/receive?agent_id="+who, "", http.StatusOK)
}

// sendAnywhere keeps every queue below its limit.
func (r *relayed) sendAnywhere(ctx context.Context) error {
	return r.send(ctx, fmt.Sprint("q", r.next.Add(1)/90))
}

func runRelay(ctx context.Context, env *Env) ([]Result, error) {
	r, err := openRelay(ctx, filepath.Join(env.Dir, "relay.db"))
	if err != nil {
		return nil, err
	}
	defer r.close()
	d, err := openDisk(env.Dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	var results []Result
	for _, f := range inFlight {
		w := writing{inFlight: f.n, write: func(int) error { return r.sendAnywhere(ctx) }}
		one, err := w.against(env, d, fmt.Sprintf("send, %d in flight", f.n), f.least)
		if err != nil {
			return results, err
		}
		results = append(results, one)
	}
	pairs := writing{inFlight: 32, write: func(who int) error {
		name := fmt.Sprint("pair", who)
		return errors.Join(r.send(ctx, name), r.receive(ctx, name))
	}}
	one, err := pairs.against(env, d, "send and receive, 32 in flight", 0)
	if err != nil {
		return results, err
	}
	registers := writing{inFlight: 32, write: func(int) error {
		return r.call(ctx, "POST", "/place/v1/register", fmt.Sprintf(`{"id":"a%d","name":"bench"}`, r.next.Add(1)), http.StatusOK)
	}}
	two, err := registers.against(env, d, "registration, 32 in flight", 0)
	if err != nil {
		return append(results, one), err
	}
	crowded, err := relayCrowd(ctx, env)
	return append(append(results, one, two), crowded...), err
}

// relayCrowd: a receive costs the same whatever waits for others.
func relayCrowd(ctx context.Context, env *Env) ([]Result, error) {
	var places [2]*relayed
	for i := range places {
		r, err := openRelay(ctx, filepath.Join(env.Dir, fmt.Sprintf("crowd%d.db", i)))
		if err != nil {
			return nil, err
		}
		defer r.close()
		places[i] = r
	}
	waiting := pick(env, 100_000, 1_000)
	env.say("filling %s", count(waiting, "message"))
	fill := writing{inFlight: 256, write: func(int) error {
		if places[1].next.Load() >= int64(waiting) {
			return errFull
		}
		return places[1].sendAnywhere(ctx)
	}}
	if _, _, err := fill.run(10 * time.Minute); !errors.Is(err, errFull) {
		return nil, err
	}
	var n [2]int
	var spent [2]time.Duration
	for range pick(env, 20, 4) {
		for i, r := range places {
			took, err := r.receives(ctx, pick(env, 100, 10))
			if err != nil {
				return nil, err
			}
			n[i], spent[i] = n[i]+pick(env, 100, 10), spent[i]+took
		}
	}
	return []Result{compare(fmt.Sprintf("receive, %s waiting elsewhere, against none", count(waiting, "message")),
		rate(float64(n[1]), spent[1]), rate(float64(n[0]), spent[0]), 1/1.2)}, nil
}

var errFull = errors.New("full")

// receives times receives of one message each; the sends before are not counted.
func (r *relayed) receives(ctx context.Context, times int) (took time.Duration, err error) {
	for range times {
		if err := r.send(ctx, "me"); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := r.receive(ctx, "me"); err != nil {
			return 0, err
		}
		took += time.Since(began)
	}
	return took, nil
}
