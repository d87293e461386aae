package fleet

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/bus"
	"parley/internal/crew"
	"parley/internal/store"
	"parley/protocol/kenny"
)

// cluster is how the fleets of several hubs work as one: news goes out on
// fleet.news, calls go to whichever hub has the machine. Alone it does nothing.
type cluster struct {
	f *Fleet

	mu     sync.Mutex
	subs   []bus.Subscription
	seen   int64             // changed_at up to which rows were read
	large  map[string][]byte // results that other hubs fetch in pieces
	closed bool
	crew   *crew.Crew // for what may wait
}

// news is what hubs tell each other; it only says where to look.
type news struct {
	Hub     string `json:"hub"`
	Machine string `json:"machine,omitempty"`
	Queued  string `json:"queued,omitempty"`
	Rules   int64  `json:"rules,omitempty"`
	Cancel  string `json:"cancel,omitempty"`
}

const (
	newsSubject = "fleet.news"
	// pieceSize is the largest result that travels whole; more goes in pieces of
	// this size.
	pieceSize = 512 << 10
	// pieceLife is how long a large result waits to be fetched.
	pieceLife = time.Minute
	// controlTime is how long another hub may take to answer a small question.
	controlTime = 5 * time.Second
	// holderCheck is how often a waiting caller asks whether the hub that has the
	// machine still lives.
	holderCheck = 2 * time.Second
	holderFirst = 200 * time.Millisecond
)

func callSubject(id string) string { return "machine." + kenny.SubjectToken(id) + ".call" }
func hubSubject(hub string) string { return "fleethub." + bus.Token(hub) }
func (c *cluster) alone() bool     { return c.f.d.Alone }

func (c *cluster) listen() error {
	if c.alone() {
		return nil
	}
	c.large = map[string][]byte{}
	c.seen = store.Micros(time.Now())
	for subject, handle := range map[string]func(bus.Msg){newsSubject: c.heard, hubSubject(c.f.hub): c.asked} {
		sub, err := c.f.d.Bus.Subscribe(subject, handle)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.subs = append(c.subs, sub)
		c.mu.Unlock()
	}
	return nil
}

func (c *cluster) close() {
	c.mu.Lock()
	subs := c.subs
	c.subs, c.closed = nil, true
	c.mu.Unlock()
	for _, s := range subs {
		s.Close()
	}
	c.crew.Close()
}

// publish tells the other hubs. Losing it costs time only: they also look.
func (c *cluster) publish(n news) {
	if c.alone() {
		return
	}
	n.Hub = c.f.hub
	if err := c.f.d.Bus.Publish(newsSubject, []byte(text(n))); err != nil && !errors.Is(err, bus.ErrClosed) {
		c.f.d.Log.Debug("other hubs are not told", "error", err)
	}
}

func (c *cluster) heard(m bus.Msg) {
	var n news
	if json.Unmarshal(m.Data, &n) != nil || n.Hub == c.f.hub {
		return
	}
	ctx, cancel := context.WithTimeout(c.f.ctx, writeTime)
	defer cancel()
	switch {
	case n.Machine != "":
		c.f.report("a changed machine cannot be read", c.f.reload(ctx, n.Machine))
	case n.Rules > c.f.rules.Load().revision:
		c.f.report("changed rules cannot be read", c.f.loadRules(ctx))
	case n.Queued != "":
		if m := c.f.find(n.Queued); m != nil && m.current() != nil {
			c.f.startDelivery(m.current())
		}
	case n.Cancel != "":
		if fl := c.f.flying(n.Cancel); fl != nil {
			fl.cancel()
		}
	}
}

// catchUp reads what changed since the last look, in case the bus lost the news.
func (c *cluster) catchUp(ctx context.Context) error {
	const overlap = 5 * time.Second
	c.mu.Lock()
	from := c.seen - overlap.Microseconds()
	c.mu.Unlock()
	var all map[string]*record
	var revision int64
	err := c.f.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		if all, err = readRecords(tx, `changed_at > ?`, from); err != nil {
			return err
		}
		err = tx.QueryRow(`SELECT value FROM fleet_counters WHERE name = 'rules'`).Scan(&revision)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range all {
		c.mu.Lock()
		c.seen = max(c.seen, r.changed)
		c.mu.Unlock()
		if m := c.f.find(r.id); m == nil && r.removed || m != nil && m.record().changed == r.changed {
			continue
		}
		c.f.apply(*r)
	}
	if revision > c.f.rules.Load().revision {
		return c.f.loadRules(ctx)
	}
	return nil
}

// question is what one hub asks another directly.
type question struct {
	Yield string `json:"yield,omitempty"` // let go of this machine
	Call  string `json:"call,omitempty"`  // a piece of this call's result
	Piece int    `json:"piece,omitempty"`
}

// askToYield has another hub let go of a machine that connected here.
func (c *cluster) askToYield(ctx context.Context, owner, id string) {
	ctx, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	_, err := c.f.d.Bus.Request(ctx, hubSubject(owner), []byte(text(question{Yield: id})))
	if err != nil {
		c.f.d.Log.Debug("the hub that had a machine does not answer", "machine", id, "hub", owner, "error", err)
	}
}

// asked answers other hubs.
func (c *cluster) asked(m bus.Msg) {
	var q question
	if json.Unmarshal(m.Data, &q) != nil || m.Respond == nil {
		return
	}
	switch {
	case q.Call != "":
		_ = m.Respond(c.piece(q.Call, q.Piece)) // whoever asked is gone, or asks again
	case q.Yield != "":
		c.spawn(func() {
			c.f.yield(q.Yield)
			_ = m.Respond([]byte("{}"))
		})
	}
}

// spawn runs something that may wait, beside the subscription.
func (c *cluster) spawn(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.crew.Go(fn)
	}
}

// yield gives a machine up that has connected to another hub.
func (f *Fleet) yield(id string) {
	m := f.find(id)
	if m == nil {
		return
	}
	m.admit.Lock()
	defer m.admit.Unlock()
	m.mu.Lock()
	s := m.session
	m.session = nil
	if s != nil {
		m.rec.lastSeen = s.Heard()
	}
	m.mu.Unlock()
	if s == nil {
		return
	}
	s.replaced()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	if s.lease != nil {
		f.report("a machine is not let go of", s.lease.Release(ctx))
	}
}

// envelope is a call on its way to the hub that has the machine. The hub that sends it
// has asked for scopes and approvals and has written the trail; the bus takes
// envelopes from hubs of this cluster only, so that nobody gets around that.
type envelope struct {
	ID      string         `json:"id"`
	Tool    string         `json:"tool"`
	Args    jsontext.Value `json:"args"`
	Timeout int64          `json:"timeout_us"`
}

// reply is what comes back.
type reply struct {
	Moved   bool           `json:"moved,omitempty"`
	Sent    bool           `json:"sent"`
	Code    Code           `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`
	Machine bool           `json:"machine,omitempty"` // the failure is the machine's own
	Result  jsontext.Value `json:"result,omitzero"`
	// Hub has a result of Size bytes in pieces; Digest is its SHA-256.
	Hub    string `json:"hub,omitempty"`
	Size   int    `json:"size,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// serve takes calls of other hubs for a machine that is connected here.
func (c *cluster) serve(s *Session) {
	if c.alone() {
		return
	}
	sub, err := bus.QueueSubscribeLight(c.f.d.Bus, callSubject(s.m.id), "hub", func(m bus.Msg) {
		if m.Respond != nil {
			c.spawn(func() { c.take(s, m) })
		}
	})
	if err != nil {
		c.f.logger(s.m).Warn("other hubs do not reach this machine", "error", err)
		return
	}
	s.mu.Lock()
	gone := s.gone
	if !gone {
		s.sub = sub
	}
	s.mu.Unlock()
	if gone {
		sub.Close()
	}
}

// take runs a call of another hub.
func (c *cluster) take(s *Session, m bus.Msg) {
	var e envelope
	r := reply{Moved: true}
	if json.Unmarshal(m.Data, &e) == nil && s.current() {
		result, sent, err := s.call(c.f.ctx, e.ID, e.Tool, e.Args, time.Duration(e.Timeout)*time.Microsecond)
		r = c.replyOf(e.ID, result, sent, err)
	}
	if err := m.Respond([]byte(text(r))); err != nil {
		c.f.logger(s.m).Warn("the answer of a call does not reach the hub that asked", "call", e.ID, "error", err)
	}
}

func (c *cluster) replyOf(id string, result jsontext.Value, sent bool, err error) reply {
	if errors.Is(err, errMoved) {
		return reply{Moved: true}
	}
	r := reply{Sent: sent}
	if e, ok := errors.AsType[*Error](err); ok {
		r.Code, r.Message, r.Machine = e.Code, e.Message, e.FromMachine
		return r
	}
	if len(result) <= pieceSize {
		r.Result = result
		return r
	}
	sum := sha256.Sum256(result)
	r.Hub, r.Size, r.Digest = c.f.hub, len(result), hex.EncodeToString(sum[:])
	c.keep(id, result)
	return r
}

// keep holds a large result until it was fetched, or for a while.
func (c *cluster) keep(id string, result []byte) {
	c.mu.Lock()
	c.large[id] = result
	c.mu.Unlock()
	time.AfterFunc(pieceLife, func() { c.drop(id) })
}

func (c *cluster) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.large, id)
}

// piece is one numbered part of a large result; the last one ends its stay.
func (c *cluster) piece(id string, n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.large[id]
	if n < 0 || n*pieceSize >= len(all) {
		return nil
	}
	return all[n*pieceSize : min(len(all), (n+1)*pieceSize)]
}

// call asks the hub that has the machine. Nobody there is the instant answer
// offline.
func (c *cluster) call(ctx context.Context, p *prepared) (jsontext.Value, bool, error) {
	if c.alone() {
		return nil, false, errorf(Offline, "the machine is not connected")
	}
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	late := time.AfterFunc(p.patience()+2*kenny.AnswerGrace, func() { lost(errLate) })
	defer late.Stop()
	// A dead hub keeps its lease for seconds, so that the first look has time: most
	// calls are over before it.
	early := time.AfterFunc(holderFirst, func() { c.spawn(func() { c.watchHolder(ctx, p.machine, lost) }) })
	defer early.Stop()
	data, err := c.f.d.Bus.Request(ctx, callSubject(p.machine), []byte(text(envelope{ID: p.id, Tool: p.tool.Name, Args: p.wire, Timeout: p.patience().Microseconds()})))
	cause := context.Cause(ctx)
	if err != nil {
		return nil, !errors.Is(err, bus.ErrNoResponders), busFailure(err, cause)
	}
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, true, errorf(Internal, "the hub that has the machine answered nonsense")
	}
	return c.received(ctx, p.id, r)
}

var (
	errLate       = errors.New("late")
	errHolderDied = errors.New("the hub that had the machine died")
)

func busFailure(err, cause error) error {
	switch {
	case errors.Is(err, bus.ErrNoResponders):
		return errorf(Offline, "the machine is not connected")
	case errors.Is(cause, errHolderDied):
		return errorf(Offline, "machine disconnected during the call")
	case errors.Is(cause, errLate):
		return errorf(Timeout, "the machine gave no answer in time")
	case cause != nil:
		return errorf(Cancelled, "the caller gave up; the machine may still be at it")
	}
	return errorf(Offline, "the hub that has the machine cannot be reached: %w", err)
}

// watchHolder ends a wait whose answer cannot come any more, because the hub that
// had the machine is dead.
func (c *cluster) watchHolder(ctx context.Context, id string, lost context.CancelCauseFunc) {
	var first string
	tick := time.NewTicker(holderCheck)
	defer tick.Stop()
	for {
		owner, err := c.f.d.Leases.Owner(ctx, leaseName(id))
		switch {
		case err != nil:
		case first == "":
			first = owner
		case owner != first:
			lost(errHolderDied)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// received turns a reply into a call's outcome and fetches what was too large for
// one message.
func (c *cluster) received(ctx context.Context, id string, r reply) (jsontext.Value, bool, error) {
	switch {
	case r.Moved:
		return nil, false, errMoved
	case r.Code != "":
		return nil, r.Sent, &Error{Code: r.Code, Message: r.Message, FromMachine: r.Machine}
	case r.Hub == "":
		return r.Result, r.Sent, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pieceLife)
	defer cancel()
	result, err := c.fetch(ctx, id, r)
	return result, true, err
}

func (c *cluster) fetch(ctx context.Context, id string, r reply) (jsontext.Value, error) {
	if r.Size < 0 || r.Size > kenny.MaxResponse {
		return nil, errorf(TooLarge, "the answer has %d bytes", r.Size)
	}
	whole := make([]byte, 0, r.Size)
	for n := 0; len(whole) < r.Size; n++ {
		part, err := c.f.d.Bus.Request(ctx, hubSubject(r.Hub), []byte(text(question{Call: id, Piece: n})))
		if err != nil || len(part) == 0 {
			return nil, errorf(Offline, "the answer was lost between two hubs")
		}
		whole = append(whole, part...)
	}
	if sum := sha256.Sum256(whole); hex.EncodeToString(sum[:]) != r.Digest {
		return nil, errorf(Internal, "the answer was damaged between two hubs")
	}
	return whole, nil
}
