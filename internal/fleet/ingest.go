package fleet

import (
	"context"
	"errors"
	"hash/maphash"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/health"
)

// ingest stores telemetry away from the connections: a slow disk costs telemetry,
// never a heartbeat or an answer. A machine's snapshots stay in order.
type ingest struct {
	f     *Fleet
	lanes []chan pushed
	seed  maphash.Seed
}

// pushed is a snapshot on its way to the store.
type pushed struct {
	m         *machine
	s         *Session // fences the write; nil for a collected one of another hub
	collected time.Time
	received  time.Time
	snapshot  map[string]jsontext.Value
	mark      chan struct{}
}

const (
	ingestQueue = 512
)

func newIngest(f *Fleet) *ingest {
	in := &ingest{f: f, seed: maphash.MakeSeed()}
	for range telemetry.Lanes {
		in.lanes = append(in.lanes, make(chan pushed, ingestQueue))
	}
	return in
}

func (in *ingest) start() {
	for _, lane := range in.lanes {
		in.f.work.Go(func() { in.run(lane) })
	}
}

func (in *ingest) lane(id string) chan pushed {
	return in.lanes[maphash.String(in.seed, id)%uint64(len(in.lanes))]
}

// put queues a pushed snapshot; false when it had to be dropped.
func (in *ingest) put(s *Session, at kenny.Timestamp, snapshot map[string]jsontext.Value) bool {
	collected, err := at.Time()
	if err != nil {
		return false // the codec has checked it
	}
	return in.offer(pushed{m: s.m, s: s, collected: collected, received: stamp(), snapshot: owned(snapshot)})
}

// stamp is now as the store keeps it: rows and memory must agree on which is newer.
func stamp() time.Time { return time.Now().Truncate(time.Microsecond) }

// owned copies the sections: the frame's buffer is the connection's.
func owned(snapshot map[string]jsontext.Value) map[string]jsontext.Value {
	out := make(map[string]jsontext.Value, len(snapshot))
	for name, raw := range snapshot {
		out[name] = raw.Clone()
	}
	return out
}

func (in *ingest) offer(p pushed) bool {
	select {
	case in.lane(p.m.id) <- p:
		return true
	default:
		in.f.stats.drop("telemetry")
		return false
	}
}

// flush waits until the snapshots of a machine that came before are stored.
func (in *ingest) flush(ctx context.Context, id string) {
	if !in.f.started.Load() {
		return
	}
	mark := make(chan struct{})
	select {
	case in.lane(id) <- pushed{mark: mark}:
	case <-ctx.Done():
		return
	case <-in.f.ctx.Done():
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	case <-in.f.ctx.Done():
	}
}

func (in *ingest) run(lane chan pushed) {
	for {
		select {
		case p := <-lane:
			in.save(p)
		case <-in.f.ctx.Done():
			for len(lane) > 0 {
				in.save(<-lane)
			}
			return
		}
	}
}

func (in *ingest) save(p pushed) {
	if p.mark != nil {
		close(p.mark)
		return
	}
	err := in.f.storeTelemetry(p)
	if err == nil {
		return
	}
	in.f.stats.drop("telemetry_failed")
	if !errors.Is(err, lease.ErrLost) && !errors.Is(err, errRemoved) {
		in.f.logger(p.m).Warn("telemetry is not stored", "error", err)
	}
}

// storeTelemetry judges a snapshot and writes it: the newest, the past, the series.
func (f *Fleet) storeTelemetry(p pushed) error {
	for name, raw := range p.snapshot { // a command line in it may hold a secret
		p.snapshot[name] = f.d.Mask.JSON(raw)
	}
	rec := p.m.record()
	report := health.Judge(rec.meta.OS, p.snapshot, rec.mutes, p.received)
	v := telemetry.Shorten(report, p.received, p.collected)
	packed, err := f.past.Pack(p.snapshot)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	err = f.d.DB.Write(ctx, func(tx *store.Tx) error {
		if p.s != nil {
			if err := p.s.check(tx); err != nil {
				return err
			}
		}
		if err := storeHeard(tx, p.m.id, p.received); err != nil {
			return err
		}
		return f.past.StoreTx(tx, p.m.id, v, packed, p.snapshot)
	})
	if err != nil {
		return err
	}
	p.m.change(func(r *record) { r.latest = v })
	if v.ClockOff {
		f.events.Hub(p.m.id, kenny.LevelWarn, "clock", "the machine's clock is more than five minutes off", map[string]any{"collected_at": p.collected.UTC().Format(time.RFC3339)})
	}
	f.changed(p.m)
	f.watchHealth(p.m, p.received)
	return nil
}

// storeHeard notes when a machine was last heard of; a removed one stores nothing
// further.
func storeHeard(tx *store.Tx, id string, received time.Time) error {
	at := store.Micros(received)
	n, err := tx.Exec(`UPDATE fleet_machines SET last_seen = CASE WHEN last_seen < ? THEN ? ELSE last_seen END WHERE id = ? AND removed_at = 0`, at, at, id)
	if err == nil && n == 0 {
		return errRemoved
	}
	return err
}

// collected stores a full collection like a push; a filtered one was only asked for.
func (f *Fleet) collected(p *prepared, result jsontext.Value) {
	var args struct {
		Sections []string `json:"sections"`
	}
	if json.Unmarshal(p.wire, &args) != nil || len(args.Sections) > 0 {
		return
	}
	var snapshot map[string]jsontext.Value
	if json.Unmarshal(result, &snapshot) != nil || len(snapshot) == 0 || kenny.CheckSnapshot(snapshot) != nil {
		f.logger(p.m).Warn("a collection is no snapshot and is not stored")
		return
	}
	now := stamp()
	f.ingest.offer(pushed{m: p.m, s: p.m.current(), collected: now, received: now, snapshot: owned(snapshot)})
}
