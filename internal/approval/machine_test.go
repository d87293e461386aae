package approval_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/approval"
	"parley.internal/internal/bus"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
)

// An approval is decided exactly once, whatever people, time and cancellation
// do at the same moment on two hubs, and everybody is told the same.
func TestAnApprovalIsDecidedExactlyOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := storetest.File(t)
		synctest.Test(t, func(t *testing.T) {
			db, err := store.Open(context.Background(), path, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			runMachine(t, rt, db)
		})
	})
}

// question is what the model knows of one.
type question struct {
	pending []*approval.Pending
	expires time.Time
	quorum  int
	yes     map[string]bool
	decided *approval.Outcome
}

func runMachine(t *testing.T, rt *rapid.T, db *store.DB) {
	b := bus.NewLocal()
	defer func() { _ = b.Close() }()
	peer := b.Peer()
	defer func() { _ = peer.Close() }()
	hubs := []*approval.Inbox{open(t, db, b, approval.Options{}), open(t, db, peer, approval.Options{})}
	defer func() { _, _ = hubs[0].Close(), hubs[1].Close() }()
	people := []string{"alice", "bob", "carol"}
	var questions []*question
	hub := func() *approval.Inbox { return hubs[rapid.IntRange(0, 1).Draw(rt, "hub")] }
	for range rapid.IntRange(1, 15).Draw(rt, "steps") {
		switch rapid.SampledFrom([]string{"ask", "storm", "storm", "pass", "restart"}).Draw(rt, "step") {
		case "ask":
			req := request()
			req.Timeout = time.Duration(rapid.IntRange(1, 20).Draw(rt, "timeout")) * time.Second
			req.Quorum = rapid.IntRange(1, 3).Draw(rt, "quorum")
			req.Policy.People = []string{"id-bob", "id-carol"}
			p := ask(t, hub(), req)
			q, err := hub().Resume(context.Background(), p.ID())
			if err != nil {
				rt.Fatal(err)
			}
			questions = append(questions, &question{pending: []*approval.Pending{p, q}, expires: p.Item().Expires, quorum: req.Quorum, yes: map[string]bool{}})
		case "storm":
			if len(questions) > 0 {
				q := questions[rapid.IntRange(0, len(questions)-1).Draw(rt, "question")]
				storm(rt, q, people, hub)
			}
		case "pass":
			<-time.After(time.Duration(rapid.IntRange(1, 15_000).Draw(rt, "milliseconds")) * time.Millisecond)
			synctest.Wait()
		case "restart":
			_ = hubs[1].Close()
			hubs[1] = open(t, db, peer, approval.Options{})
			for _, q := range questions {
				p, err := hubs[1].Resume(context.Background(), q.pending[0].ID())
				if err != nil {
					rt.Fatal(err)
				}
				q.pending = append(q.pending, p)
			}
		}
		for _, q := range questions {
			q.check(rt, hubs[0])
		}
	}
}

// storm lets several act on one question at once and checks what they are told.
func storm(rt *rapid.T, q *question, people []string, hub func() *approval.Inbox) {
	type act struct {
		name     string
		approved bool
		on       *approval.Inbox
		result   approval.Result
	}
	acts := make([]*act, rapid.IntRange(1, 5).Draw(rt, "acts"))
	for i := range acts {
		acts[i] = &act{name: rapid.SampledFrom(append(people, "cancel")).Draw(rt, "who"), approved: rapid.Bool().Draw(rt, "approved"), on: hub()}
	}
	id := q.pending[0].ID()
	var group sync.WaitGroup
	for _, a := range acts {
		group.Go(func() {
			var err error
			if a.name == "cancel" {
				a.result.Item.Outcome, err = a.on.Cancel(context.Background(), id, "stop")
			} else {
				a.result, err = a.on.Answer(context.Background(), person(a.name), id, approval.Answer{Approved: a.approved, Reason: a.name})
			}
			if err != nil {
				rt.Errorf("%s: %v", a.name, err)
			}
		})
	}
	group.Wait()
	decided := 0
	for _, a := range acts {
		if a.result.Decided {
			decided++
			if q.decided != nil {
				rt.Fatalf("%s decided what was decided", a.name)
			}
		}
		if a.approved && a.name != "cancel" {
			q.yes[a.name] = true
		}
	}
	if decided > 1 {
		rt.Fatalf("%d answers decided", decided)
	}
	for _, a := range acts {
		if a.result.Decided && a.approved && len(q.yes) < q.quorum {
			rt.Fatalf("approved by %d of %d", len(q.yes), q.quorum)
		}
	}
}

// check holds every view of the question against the first decision seen.
func (q *question) check(rt *rapid.T, in *approval.Inbox) {
	item, err := in.Get(context.Background(), person("alice"), q.pending[0].ID())
	if err != nil {
		rt.Fatal(err)
	}
	if item.Outcome.State == approval.StatePending {
		if q.decided != nil {
			rt.Fatal("a decision was undone")
		}
		if time.Since(q.expires) > time.Second {
			rt.Fatal("it waits beyond its time")
		}
		return
	}
	if q.decided == nil {
		q.decided = &item.Outcome
	}
	if diff := cmp.Diff(*q.decided, item.Outcome); diff != "" {
		rt.Fatalf("the decision changed: %s", diff)
	}
	synctest.Wait()
	for _, p := range q.pending {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		out, err := p.Wait(ctx)
		cancel()
		if err != nil && !errors.Is(err, approval.ErrClosed) {
			rt.Fatalf("a waiter was not told: %v", err)
		}
		if err == nil {
			if diff := cmp.Diff(*q.decided, out); diff != "" {
				rt.Fatalf("a waiter was told otherwise: %s", diff)
			}
		}
	}
}
