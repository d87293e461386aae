package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/lease"
	"parley.internal/internal/owner"
	"parley.internal/internal/store"
	"parley.internal/internal/talk/memory"
)

var noUsage model.Usage

// running is a turn in progress. It is used by the job's goroutine only.
type running struct {
	c       *conversation
	j       *job
	tn      *turn
	speaker string
	agent   *brain.Agent
	model   brain.Model
	meter   *brain.Meter
	began   time.Time
	userSeq int64
	lastSeq int64
	// fromSeq is where the exchange begins that the run goes on with: its user message, or the
	// calls that it brings results of.
	fromSeq int64
	parts   atomic.Int64 // how many are messages already
	compact *compaction  // asked for by the compact tool
	narrow  narrowing
	// base is how many messages the request began with; what follows was added
	// by the run.
	base      int
	delegated *delegations
	depth     int  // of delegation; 0 is a person's own turn
	tainted   bool // it began with words of strangers
	sink      runSink
	// caller is who delegated; clock counts the run's own time; place is among the hub's runs.
	caller *running
	clock  brain.Stopwatch
	place  place
}

// place is a run's among those a hub does at a time. While the run waits for a person, somebody
// else may have it.
type place struct {
	pool  chan struct{}
	mu    sync.Mutex
	taken bool
	away  int // how many questions of the run wait
}

// leave gives the place up, for the first question that waits.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away++; p.away == 1 {
		p.giveBack()
	}
}

// comeBack waits for a place again, after the last question. A run that is cancelled needs none.
func (p *place) comeBack(ctx context.Context) {
	p.mu.Lock()
	p.away--
	last := p.away == 0 && !p.taken
	p.mu.Unlock()
	if !last {
		return
	}
	select {
	case p.pool <- struct{}{}:
	case <-ctx.Done():
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken {
		<-p.pool // another question came and went meanwhile
	}
	p.taken = true
}

// giveBack makes room for another run; p.mu is held.
func (p *place) giveBack() {
	if p.taken {
		<-p.pool
		p.taken = false
	}
}

// end gives the place up for good.
func (p *place) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack()
}

// runTurn does a turn from its words to its end.
func (c *conversation) runTurn(ctx context.Context, j *job) settled {
	r := &running{c: c, j: j, tn: j.turn, speaker: j.turn.speaker(c.key.Agent), began: time.Now(), delegated: &delegations{}}
	r.place.pool = c.t.slots
	r.place.taken = c.slot(ctx, r.tn)
	defer r.place.end()
	first := c.window.Conversation.LastSeq == 0
	if err := r.begin(); err != nil {
		r.refused(err)
		return settled{}
	}
	out := r.run(ctx)
	c.mu.Lock()
	j.over = true
	c.mu.Unlock()
	end, ok := r.finish(out)
	if !ok {
		return settled{}
	}
	return settled{end: &end, compact: r.after(out), firstTurn: first && out.Stop == brain.StopDone}
}

// slot waits until the hub may do one more run. A turn that has to wait for that
// waits like any other: durably, and its client knows.
func (c *conversation) slot(ctx context.Context, tn *turn) (taken bool) {
	select {
	case c.t.slots <- struct{}{}:
		return true
	default:
	}
	if !tn.durable {
		err := c.t.d.Memory.Enqueue(ctx, c.lease, c.id, tn.waiting(), c.t.d.Limits.Waiting+1, true)
		if err != nil {
			return false // begin will say what is wrong
		}
		tn.durable = true
	}
	tn.accept(acceptance{})
	c.feed.publish(Event{Kind: Queued, Run: tn.id, Position: 1})
	select {
	case c.t.slots <- struct{}{}:
		return true
	case <-ctx.Done(): // cancelled: its words are stored, and that is all
		return false
	}
}

// begin makes the words and the run durable, then tells that it starts.
func (r *running) begin() error {
	c, tn := r.c, r.tn
	msgs := r.said()
	err := c.write(func(tx *store.Tx) error {
		if tn.durable {
			if err := c.t.d.Memory.Dequeue(tx, tn.id); err != nil {
				return err
			}
		}
		first, err := c.t.d.Memory.AppendTx(tx, nil, c.id, msgs...)
		if err != nil {
			return err
		}
		for i := range msgs {
			msgs[i].Seq = first + int64(i)
		}
		return c.t.d.Memory.Begin(tx, memory.Run{ID: tn.id, Conversation: c.id, Speaker: r.speaker, Key: tn.Key, UserSeq: msgs[len(msgs)-1].Seq})
	})
	if err != nil {
		return err
	}
	tn.durable = false
	last := msgs[len(msgs)-1]
	r.userSeq, r.lastSeq, r.fromSeq = last.Seq, last.Seq, c.window.exchange(msgs)
	c.window.add(msgs...)
	tn.accept(acceptance{})
	if last.Role == model.User {
		c.feed.publish(Event{Kind: UserMessage, Run: tn.id, Seq: last.Seq, Text: tn.Content, Files: tn.Files})
	} else {
		c.feed.publish(Event{Kind: stored, Run: tn.id, Seq: last.Seq})
	}
	c.feed.publish(Event{Kind: Start, Run: tn.id, Agent: r.speaker, Seq: last.Seq})
	return nil
}

// refused handles a turn whose words could not be stored. One that waits in the
// queue stays there, for this hub's next try or another's.
func (r *running) refused(err error) {
	c := r.c
	c.t.d.Log.Error("cannot store a turn", "conversation", c.id, "run", r.tn.id, "error", err)
	if errors.Is(err, lease.ErrLost) || errors.Is(err, memory.ErrNotFound) {
		err = owner.ErrGone
	}
	answered := r.tn.accepted == nil
	r.tn.accept(acceptance{err: err})
	c.end()
	if answered && !c.t.d.Clustered {
		c.feed.cut(ErrUnavailable, func(s *sub) bool { return s.run == r.tn.id })
	}
}

// run asks the speaker's model.
func (r *running) run(ctx context.Context) brain.Outcome {
	c := r.c
	c.mu.Lock()
	nobody := !wanted([]*turn{r.tn}) && c.watched() == 0
	c.mu.Unlock()
	if nobody {
		return brain.Outcome{Stop: brain.StopCancelled, Err: brain.ErrCancelled}
	}
	spec, err := r.prepare(ctx)
	if err != nil {
		return brain.Outcome{Stop: brain.StopModelError, Err: err}
	}
	r.sink = runSink{r: r}
	defer c.t.keeper.keep(r)()
	return brain.Run(ctx, spec, &r.sink)
}

// finish makes the reply and the end durable and gives the event that may be told
// then. ok is false when the conversation cannot go on here.
func (r *running) finish(out brain.Outcome) (end Event, ok bool) {
	c := r.c
	reply := memory.Message{Run: r.tn.id, Agent: r.tn.Guest, At: time.Now(), Message: out.Reply, Usage: out.Last}
	reply.Calls = nil // calls without results cannot stay
	reply.Outcome = endingOf(out)
	record := memory.Run{
		ID: r.tn.id, Conversation: c.id, UserSeq: r.userSeq, Outcome: reply.Outcome, Stop: int(wireStop(out.Stop)), Error: errorText(out.Err), Text: out.Text,
		Provider: r.model.Ref.Provider, Model: r.model.Name, Usage: out.Usage,
	}
	ids := append([]*turn{r.tn}, r.j.joined...)
	err := c.write(func(tx *store.Tx) error {
		if reply.Role != "" {
			seq, err := c.t.d.Memory.AppendTx(tx, nil, c.id, reply)
			if err != nil {
				return err
			}
			reply.Seq = seq
		} else if err := c.t.d.Memory.MarkOutcome(tx, record); err != nil {
			return err
		}
		for _, tn := range ids {
			record.ID, record.Joined = tn.id, tn != r.tn
			if err := c.t.d.Memory.End(tx, record); err != nil {
				return err
			}
		}
		return nil
	})
	end = Event{
		Kind: End, Run: r.tn.id, Agent: r.speaker, Error: record.Error, Code: endCode(out.Err), Stop: wireStop(out.Stop),
		Provider: record.Provider, Model: record.Model, Usage: usageOf(out.Usage), Seq: r.lastSeq, Calls: shownCalls(out.Calls), Finish: out.Finish,
	}
	if err != nil {
		r.unstored(err, end)
		return end, false
	}
	if reply.Role != "" {
		c.window.add(reply)
		end.Seq = reply.Seq
	}
	r.audit(out)
	return end, true
}

// unstored ends a run whose end could not be stored: the next owner will find it
// open and end it for everybody. Only its own clients are told here.
func (r *running) unstored(err error, end Event) {
	c := r.c
	if !errors.Is(err, lease.ErrLost) && !errors.Is(err, memory.ErrNotFound) {
		c.t.d.Log.Error("cannot store the end of a run", "conversation", c.id, "run", r.tn.id, "error", err)
	}
	end.Stop, end.Error = brain.StopInterrupted, brain.ErrInterrupted.Error()
	c.end()
	c.feed.endRun(r.tn.id, end)
}

// wireStop gives what only we know a reason the wire knows.
func wireStop(s brain.Stop) brain.Stop {
	switch s {
	case brain.StopInternal:
		return brain.StopInterrupted
	case brain.StopCalls:
		return brain.StopDone
	default:
		return s
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return strings.ToValidUTF8(err.Error(), "\uFFFD")
}

func endCode(err error) string {
	var e *model.Error
	if errors.As(err, &e) && e.Cause == model.CauseTimeout {
		return CodeTimeout
	}
	return ""
}

// Calls makes a round's calls durable before any of them runs.
func (r *running) Calls(_ context.Context, msg model.Message, usage model.Usage) error {
	return r.store(memory.Message{Message: msg, Usage: usage})
}

// Results makes a round's results durable before the next model call.
func (r *running) Results(_ context.Context, results []tool.Done) error {
	msgs := make([]memory.Message, len(results))
	for i := range results {
		d := &results[i]
		msgs[i].Message = model.Message{Role: model.Tool, Text: d.Text, CallID: d.Call.ID, Name: d.Call.Name, IsError: d.IsError}
	}
	return r.store(msgs...)
}

func (r *running) store(msgs ...memory.Message) error {
	c := r.c
	for i := range msgs {
		msgs[i].Run, msgs[i].Agent, msgs[i].At = r.tn.id, r.tn.Guest, time.Now()
	}
	err := c.write(func(tx *store.Tx) error {
		first, err := c.t.d.Memory.AppendTx(tx, nil, c.id, msgs...)
		for i := range msgs {
			msgs[i].Seq = first + int64(i)
		}
		if err != nil {
			return err
		}
		return c.t.d.Memory.PartStored(tx, r.tn.id)
	})
	if err != nil {
		return fmt.Errorf("storing a round: %w", err)
	}
	r.lastSeq = msgs[len(msgs)-1].Seq
	c.window.add(msgs...)
	c.feed.publish(Event{Kind: stored, Run: r.tn.id, Seq: r.lastSeq})
	r.parts.Add(1) // after the text was taken back: whoever reads the number first reads no older text
	return nil
}

// pending lets steers join: each becomes a message of the run, durably, in the
// order they came.
func (r *running) pending() []model.Message {
	c := r.c
	c.mu.Lock()
	steers := slices.Clone(c.steers)
	c.mu.Unlock()
	if len(steers) == 0 {
		return nil
	}
	msgs := make([]memory.Message, len(steers))
	for i, tn := range steers {
		msgs[i] = memory.Message{Run: tn.id, At: time.Now(), Message: model.Message{Role: model.User, Text: tn.Content, Files: tn.Files}}
	}
	err := c.write(func(tx *store.Tx) error { return r.join(tx, steers, msgs) })
	if err != nil {
		c.t.d.Log.Error("cannot let a steer join", "conversation", c.id, "run", r.tn.id, "error", err)
		r.j.cancel(brain.ErrInterrupted)
		return nil
	}
	c.mu.Lock()
	c.steers = slices.DeleteFunc(c.steers, func(tn *turn) bool { return slices.Contains(steers, tn) })
	r.j.joined = append(r.j.joined, steers...)
	c.mu.Unlock()
	c.window.add(msgs...)
	out := make([]model.Message, len(msgs))
	for i, tn := range steers {
		tn.durable = false
		r.lastSeq = msgs[i].Seq
		c.feed.publish(Event{Kind: Steered, Run: tn.id, Host: r.tn.id, Text: tn.Content, Seq: msgs[i].Seq})
		out[i] = model.Message{Role: model.User, Text: r.expand(tn.Content), Files: tn.Files}
	}
	return out
}

func (r *running) join(tx *store.Tx, steers []*turn, msgs []memory.Message) error {
	m := r.c.t.d.Memory
	first, err := m.AppendTx(tx, nil, r.c.id, msgs...)
	if err != nil {
		return err
	}
	for i, tn := range steers {
		msgs[i].Seq = first + int64(i)
		if err := m.Dequeue(tx, tn.id); err != nil {
			return err
		}
		if err := m.Begin(tx, memory.Run{ID: tn.id, Conversation: r.c.id, Speaker: r.speaker, Key: tn.Key, UserSeq: msgs[i].Seq}); err != nil {
			return err
		}
	}
	return nil
}
