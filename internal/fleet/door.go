package fleet

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// Link is a machine's connection as the face holds it. None of it blocks.
type Link interface {
	// Send queues one frame; [ErrLinkFull] when too much waits already.
	Send(frame []byte) error
	// SendNewest queues a frame that takes the place of a waiting one of its kind.
	SendNewest(kind string, frame []byte) error
	// Close says why and ends the connection.
	Close(code kenny.CloseCode, reason string)
}

// ErrLinkFull says that a machine reads too slowly for another call.
var ErrLinkFull = errors.New("the machine's queue is full")

// ErrRefused is every failure to authenticate. The peer is told nothing more; the
// wrapping text is for the log.
var ErrRefused = errors.New("machine refused")

// Greeting is a handshake under way.
type Greeting struct {
	reg        *kenny.Register
	address    string
	transcript []byte
	// Challenge is the frame to send; nil on the legacy path, where Admit follows
	// at once.
	Challenge []byte
}

// Claimed is the id the peer says it has, for logs.
func (g *Greeting) Claimed() string { return g.reg.AgentID }

// dummyKey stands in for the key of a machine nobody knows, so that an unknown id
// costs what a known one costs. Nobody has its private half.
var dummyKey = func() ed25519.PublicKey {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // never: crypto/rand does not fail
	}
	return public
}()

// Greet answers a register: the hub proves itself first, to known and unknown
// machines alike.
func (f *Fleet) Greet(reg *kenny.Register, address string) (*Greeting, error) {
	g := &Greeting{reg: reg, address: address}
	if !reg.Signed() {
		return g, nil
	}
	nonce := make([]byte, kenny.NonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	transcript, err := kenny.Transcript(reg.AgentID, reg.ClientNonce, nonce)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	signature, err := kenny.Sign(f.d.Key, transcript)
	if err != nil {
		return nil, err
	}
	g.transcript = transcript
	g.Challenge, err = kenny.Encode(&kenny.Challenge{ServerNonce: nonce, ServerSig: signature})
	return g, err
}

// Admit checks the machine's proof and makes the connection its current one: the
// policy is queued first, then the machine shows online. auth is nil on the legacy
// path. The error is [ErrRefused] or a failure of the hub.
func (f *Fleet) Admit(ctx context.Context, g *Greeting, auth *kenny.Auth, link Link) (*Session, error) {
	m, key, err := f.prove(ctx, g, auth)
	if err != nil {
		f.refused(g, err)
		return nil, err
	}
	m.admit.Lock()
	defer m.admit.Unlock()
	held, err := f.takeLease(ctx, m.id)
	if err != nil {
		return nil, err
	}
	s := newSession(f, m, link, g, key, held)
	revision := s.sendPolicy()
	m.mu.Lock()
	old := m.session
	m.session = s
	m.mu.Unlock()
	f.sessions.Put(m.id, s)
	if old != nil {
		old.replaced()
	}
	if err := f.recordConnect(s, g.reg, key, old != nil); err != nil {
		if errors.Is(err, lease.ErrLost) || errors.Is(err, errRemoved) {
			s.Ended(Gone{Code: kenny.CloseUnauthorized, Reason: "lost during the handshake"})
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		f.d.Log.Error("a machine's connection is not on record", "machine", m.id, "error", err)
	}
	if f.rules.Load().revision != revision {
		s.sendPolicy() // changed between the first frame and now
	}
	f.stats.Handshake("ok")
	f.opened(s)
	return s, nil
}

// opened is what a new connection sets going.
func (f *Fleet) opened(s *Session) {
	f.changed(s.m)
	f.updates.Seen(s.m.id, s.m.meta().Version)
	f.startDelivery(s)
}

// prove finds the machine and checks that the peer is it.
func (f *Fleet) prove(ctx context.Context, g *Greeting, auth *kenny.Auth) (*machine, string, error) {
	if !f.d.Alone {
		// Another hub may have revoked or removed; the store knows.
		ctx, cancel := context.WithTimeout(ctx, writeTime)
		defer cancel()
		if err := f.reload(ctx, g.reg.AgentID); err != nil {
			return nil, "", err
		}
	}
	m := f.find(g.reg.AgentID)
	if g.transcript == nil {
		return f.proveLegacy(ctx, g, m)
	}
	keys := []keyRecord{{public: dummyKey}}
	if m != nil {
		if own := m.record().keys; len(own) > 0 {
			keys = own
		}
	}
	now := time.Now()
	for _, k := range keys {
		if !k.valid(now) || kenny.Verify(g.transcript, auth.AgentSig, k.public) != nil {
			continue
		}
		if m == nil || k.text == "" {
			break
		}
		return m, k.text, nil
	}
	if m == nil {
		return nil, "", fmt.Errorf("%w: unknown id", ErrRefused)
	}
	return nil, "", fmt.Errorf("%w: no valid key signed this", ErrRefused)
}

// refused records a failed handshake: address, claimed id and reason, never key,
// nonce or token.
func (f *Fleet) refused(g *Greeting, err error) {
	if !errors.Is(err, ErrRefused) {
		return
	}
	f.Refused(g.reg.AgentID, g.address, err.Error())
}

// Refused counts and records a handshake that did not get to a machine.
func (f *Fleet) Refused(claimed, address, reason string) {
	f.stats.Handshake("refused")
	f.d.Log.Warn("handshake refused", "address", address, "claimed", fault.Quotable(claimed), "reason", reason)
	known := ""
	if f.find(claimed) != nil {
		known = claimed
	}
	f.events.Hub(known, kenny.LevelWarn, "refused", "handshake refused: "+reason, map[string]any{"address": address, "claimed": fault.Quotable(claimed)})
}

// errRemoved: the machine was removed while it shook hands.
var errRemoved = errors.New("the machine was removed")

// recordConnect writes the connection down, and that it happened, in one transaction
// with the check that it is allowed.
func (f *Fleet) recordConnect(s *Session, reg *kenny.Register, key string, again bool) error {
	now := time.Now()
	meta := Meta{Hostname: fit.Storable(reg.Meta.Hostname), OS: reg.Meta.OS, Version: fit.Storable(reg.Meta.Version), Arch: fit.Storable(reg.Meta.Arch), Control: reg.Meta.Control(), Ours: reg.Meta.Ours()}
	old := s.m.meta()
	s.from = old.Version
	firstProof, retires := s.m.provesKey(key)
	s.m.change(func(r *record) {
		r.meta, r.state, r.hub, r.epoch, r.connected, r.lastSeen = meta, wasOnline, f.hub, s.epoch, now, now
	})
	stamp := store.Micros(now)
	n := &arrival{s: s, meta: text(meta), stamp: stamp, retires: retires, event: s.connected(now, meta.Version, again)}
	if firstProof {
		n.key = key
	}
	if err := f.arrivals.add(n); err != nil {
		return err
	}
	s.m.change(func(r *record) { r.changed = max(r.changed, stamp) })
	if retires {
		f.d.Audit.Note(audit.Entry{Actor: "machine:" + s.m.id, Action: audit.FleetRekeyed, Target: s.m.id, Detail: map[string]any{"address": s.address}})
		ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
		defer cancel()
		return f.reload(ctx, s.m.id)
	}
	if firstProof {
		f.d.Log.Info("a machine proved its key", "machine", s.m.id)
		s.m.change(func(r *record) { r.keys = provedKeys(r.keys, key) })
	}
	return nil
}

// connected is the event of a new connection.
func (s *Session) connected(at time.Time, version string, again bool) telemetry.Event {
	message := "connected"
	if again {
		message = "connected, in place of an earlier connection"
	}
	detail := struct {
		Address string `json:"address"`
		Version string `json:"version"`
	}{s.address, version}
	return telemetry.Event{At: at, Machine: s.m.id, Source: "hub", Kind: "log", Level: kenny.LevelInfo, Target: "connect", Message: message, Fields: jsontext.Value(text(detail))}
}

// provedKeys is the list with one key marked as used; the old list may be in
// others' hands.
func provedKeys(keys []keyRecord, key string) []keyRecord {
	out := slices.Clone(keys)
	for i := range out {
		out[i].proved = out[i].proved || out[i].text == key
	}
	return out
}

// provesKey reports whether the key is used for the first time, and whether older
// ones end with that. The newest key stands first.
func (m *machine) provesKey(key string) (first, retires bool) {
	r := m.record()
	for i, k := range r.keys {
		if k.text == key && !k.proved {
			return true, i < len(r.keys)-1
		}
	}
	return false, false
}

// proved marks the first use of a key and ends those it replaced: the older ones. A
// newer one was meant to replace this one, and stays.
func (f *Fleet) proved(tx *store.Tx, id, key string, at int64, retires bool) error {
	if _, err := tx.Exec(`UPDATE fleet_keys SET proved_at = ? WHERE machine = ? AND public_key = ?`, at, id, key); err != nil || !retires {
		return err
	}
	_, err := tx.Exec(`UPDATE fleet_keys SET revoked_at = ? WHERE machine = ? AND revoked_at = 0
		AND since < (SELECT k.since FROM fleet_keys k WHERE k.machine = ? AND k.public_key = ?)`, at, id, id, key)
	return err
}

// takeLease makes this hub the one that holds the machine. Another living hub is
// asked to let go; a dead one's lease runs out within seconds.
func (f *Fleet) takeLease(ctx context.Context, id string) (*lease.Lease, error) {
	if f.d.Alone {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	for {
		held, err := f.d.Leases.Acquire(ctx, leaseName(id))
		other, taken := errors.AsType[*lease.HeldError](err)
		if !taken {
			return held, err
		}
		f.askToYield(ctx, other.Owner, id)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("hub %s does not let go of the machine: %w", other.Owner, ctx.Err())
		case <-time.After(leaseRetry):
		}
	}
}

const (
	// leaseWait outlasts the lease of a hub that died a moment ago.
	leaseWait  = 12 * time.Second
	leaseRetry = 100 * time.Millisecond
)

func leaseName(id string) string { return "machine." + id }

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey {
	public, _ := key.Public().(ed25519.PublicKey)
	return public
}

// logger is for what concerns one machine.
func (f *Fleet) logger(m *machine) *slog.Logger { return f.d.Log.With("machine", m.id) }
