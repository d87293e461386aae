package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/bus"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/test/trailtest"
)

func TestMain(m *testing.M) {
	trailtest.Main(m, "approval.asked", "approval.voted", "approval.resolved", "approval.refused")
}

func open(t testing.TB, db *store.DB, b bus.Bus, opts approval.Options) *approval.Inbox {
	t.Helper()
	opts.Audit = trailtest.Watch(opts.Audit)
	in, err := approval.Open(context.Background(), db, b, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	return in
}

func newBus(t testing.TB) *bus.Local {
	b := bus.NewLocal()
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func each(t *testing.T, run func(t *testing.T, in *approval.Inbox)) {
	storetest.Each(t, func(t *testing.T, db *store.DB) { run(t, open(t, db, newBus(t), approval.Options{})) })
}

func person(name string, scopes ...string) identity.Actor {
	if len(scopes) == 0 {
		scopes = []string{"approvals"}
	}
	return identity.Actor{
		Person: identity.Principal{Kind: identity.KindPerson, ID: "id-" + name, Name: name},
		Via:    identity.Via{TokenID: "token-" + name}, Role: identity.RoleOperator, Scopes: identity.Expand(scopes...),
	}
}

var alice = person("alice")

func request() approval.Request {
	return approval.Request{
		Principal: "id-alice", Kind: approval.KindTool, Title: "Run a command", Tool: "shell", Arguments: json.RawMessage(`{"command": "ls",  "n":1}`),
		Target: "machine:pc", Reason: "to see", RequestedBy: "agent:parley", OnBehalfOf: "person:alice", Task: "task-1", Timeout: time.Minute,
	}
}

func ask(t testing.TB, in *approval.Inbox, req approval.Request) *approval.Pending {
	t.Helper()
	p, err := in.Ask(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wait(t testing.TB, p *approval.Pending) approval.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("waiting: %v", err)
	}
	return out
}

func answer(t testing.TB, in *approval.Inbox, who identity.Actor, id string, a approval.Answer) approval.Result {
	t.Helper()
	r, err := in.Answer(context.Background(), who, id, a)
	if err != nil {
		t.Fatalf("answering: %v", err)
	}
	return r
}

func TestAQuestionIsKeptAsAskedAndAnswered(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		req := request()
		req.Questions = []approval.Question{{Question: "Which?", Options: []approval.Option{{Label: "a"}, {Label: "b"}}}}
		p := ask(t, in, req)
		listed, err := in.List(t.Context(), approval.Filter{Principal: "id-alice"})
		if err != nil || len(listed) != 1 {
			t.Fatalf("%+v, %v; want no error, len(listed) to be 1", listed, err)
		}
		got := listed[0]
		if string(got.Arguments) != `{"command": "ls",  "n":1}` || got.Digest != p.Item().Digest || got.Timeout != time.Minute || got.Quorum != 1 {
			t.Errorf("kept %+v", got)
		}
		if diff := cmp.Diff(req.Questions, got.Questions); diff != "" {
			t.Error(diff)
		}
		if want, _ := audit.Digest(map[string]any{"n": 1, "command": "ls"}); got.Digest != want {
			t.Errorf("digest %s", got.Digest)
		}
		r := answer(t, in, alice, p.ID(), approval.Answer{Approved: true, Reason: "fine", Answers: []string{"a"}, Remember: "task"})
		if !r.Decided || r.Missing != 0 {
			t.Errorf("result %+v", r)
		}
		out := wait(t, p)
		if !out.Approved() || out.By != "person:alice" || out.Reason != "fine" || out.Remember != approval.RememberOnce || out.At.IsZero() {
			t.Errorf("outcome %+v", out)
		}
		if diff := cmp.Diff([]string{"a"}, out.Answers); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(out, r.Item.Outcome); diff != "" {
			t.Errorf("the answer and the wait differ: %s", diff)
		}
	})
}

func TestRememberCountsWhereAllowed(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		req := request()
		req.MayRemember = true
		p := ask(t, in, req)
		if r := answer(t, in, alice, p.ID(), approval.Answer{Approved: true, Remember: approval.RememberTask}); r.Item.Outcome.Remember != approval.RememberTask {
			t.Errorf("%+v; want r.Item.Outcome.Remember to be %v", r, approval.RememberTask)
		}
		if _, err := in.Answer(t.Context(), alice, p.ID(), approval.Answer{Remember: "forever"}); !errors.Is(err, approval.ErrInvalid) {
			t.Errorf("forever: %v", err)
		}
	})
}

// A skill may have two hundred findings, each a question of its own, and one more asks who may
// use it. More than a hundred answers were refused, so nobody could approve it.
func TestAsManyAnswersAsASkillCanAskFor(t *testing.T) {
	in := open(t, storetest.SQLite(t), newBus(t), approval.Options{})
	p := ask(t, in, request())
	r := answer(t, in, alice, p.ID(), approval.Answer{Approved: true, Answers: slices.Repeat([]string{"acknowledged"}, 201)})
	if !r.Item.Outcome.Approved() {
		t.Errorf("201 answers made it %s, expected approved", r.Item.Outcome.State)
	}
	_, err := in.Answer(t.Context(), alice, ask(t, in, request()).ID(), approval.Answer{Answers: make([]string, approval.MaxAnswerCount+1)})
	if !errors.Is(err, approval.ErrInvalid) {
		t.Errorf("%d answers: %v, expected a refusal", approval.MaxAnswerCount+1, err)
	}
}

func TestALateAnswerGetsTheRecord(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		p := ask(t, in, request())
		answer(t, in, alice, p.ID(), approval.Answer{Reason: "no"})
		late := answer(t, in, person("owner", "admin"), p.ID(), approval.Answer{Approved: true})
		if late.Decided || late.Item.Outcome.State != approval.StateRejected || late.Item.Outcome.Reason != "no" {
			t.Errorf("%+v; want not late.Decided, late.Item.Outcome.State to be %v, late.Item.Outcome.Reason to be \"no\"", late, approval.StateRejected)
		}
		if out, err := in.Cancel(t.Context(), p.ID(), "too late"); err != nil || out.State != approval.StateRejected {
			t.Errorf("%+v, %v; want no error, out.State to be %v", out, err, approval.StateRejected)
		}
	})
}

func TestWhoMayAnswer(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		req := request()
		req.Policy = approval.Policy{People: []string{"id-carol"}, Scope: identity.FleetCall}
		req.Asker = approval.AskerOf(alice)
		id := ask(t, in, req).ID()
		agent := person("alice", "admin")
		agent.Person.Kind = identity.KindAgent
		otherToken := person("alice", "approvals", "fleet")
		otherToken.TokenID = "another"
		for name, c := range map[string]struct {
			who  identity.Actor
			want error
			says string
		}{
			"a stranger":                 {person("bob", "approvals", "fleet"), approval.ErrNotFound, ""},
			"nobody":                     {identity.Actor{}, approval.ErrNotFound, ""},
			"without approval:respond":   {person("carol", "approval:read", "fleet"), approval.ErrForbidden, "lacks the scope approval:respond"},
			"without the policy's scope": {person("carol", "approvals"), approval.ErrForbidden, "lacks the scope fleet:call"},
			"the asking token":           {person("alice", "approvals", "fleet"), approval.ErrForbidden, "asked with the same token"},
			"an agent":                   {agent, approval.ErrForbidden, "only a person decides"},
			"the hub":                    {identity.Hub(), approval.ErrForbidden, "only a person decides"},
		} {
			if _, err := in.Answer(t.Context(), c.who, id, approval.Answer{Approved: true}); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %v %s", name, err, c.want, c.says)
			}
		}
		if _, err := in.Answer(t.Context(), alice, "unknown", approval.Answer{}); !errors.Is(err, approval.ErrNotFound) {
			t.Errorf("unknown: %v", err)
		}
		if r := answer(t, in, otherToken, id, approval.Answer{Approved: true}); !r.Decided {
			t.Errorf("the same person with another token: %+v", r)
		}
		second := ask(t, in, req).ID()
		if r := answer(t, in, person("carol", "approvals", "fleet"), second, approval.Answer{Approved: true}); !r.Decided {
			t.Errorf("named in the policy: %+v", r)
		}
		if n, err := in.Waiting(t.Context(), "id-carol"); err != nil || n != 0 {
			t.Errorf("carol has %d, %v", n, err)
		}
		if _, err := in.Get(t.Context(), person("bob"), second); !errors.Is(err, approval.ErrNotFound) {
			t.Errorf("bob sees it: %v", err)
		}
		if _, err := in.Get(t.Context(), person("carol"), second); err != nil {
			t.Errorf("carol does not: %v", err)
		}
	})
}

// A question about a machine is answered by whoever could do what is asked: two weak
// tokens, one that asks and one that answers, do not make a strong one.
func TestWhoeverAnswersCouldDoItThemselves(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		req := request()
		req.Policy.Right = &approval.Right{Scope: identity.FleetCall, Machines: []approval.Machine{{ID: "pc", Tags: []string{"lab"}}, {ID: "nas"}}}
		id := ask(t, in, req).ID()
		for name, c := range map[string]struct {
			who  identity.Actor
			says string
		}{
			"without the scope":       {person("alice", "approvals", "fleet:read"), "lacks the scope fleet:call"},
			"for another machine":     {person("alice", "approvals", "fleet", "machine:other"), "does not reach the machine pc"},
			"for one of the machines": {person("alice", "approvals", "fleet", "tag:lab"), "does not reach the machine nas"},
		} {
			if _, err := in.Answer(t.Context(), c.who, id, approval.Answer{Approved: true}); !errors.Is(err, approval.ErrForbidden) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", name, err, c.says)
			}
		}
		if r := answer(t, in, person("alice", "approvals", "fleet", "tag:lab", "machine:nas"), id, approval.Answer{Approved: true}); !r.Decided {
			t.Errorf("a token for both machines: %+v", r)
		}
	})
}

func TestAQuorumNeedsDifferentPeople(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		req := request()
		req.Quorum, req.Policy.People = 2, []string{"id-bob", "id-carol"}
		p := ask(t, in, req)
		yes := approval.Answer{Approved: true}
		if n, err := in.Waiting(t.Context(), "id-bob"); err != nil || n != 1 {
			t.Errorf("bob sees %d, %v", n, err)
		}
		for range 3 {
			if r := answer(t, in, alice, p.ID(), yes); r.Decided || r.Missing != 1 || r.Item.Outcome.State != approval.StatePending {
				t.Errorf("alice again: %+v", r)
			}
		}
		if r := answer(t, in, person("bob"), p.ID(), yes); !r.Decided || wait(t, p).By != "person:bob" {
			t.Errorf("bob: %+v", r)
		}
		q := ask(t, in, req)
		answer(t, in, alice, q.ID(), yes)
		if r := answer(t, in, person("carol"), q.ID(), approval.Answer{}); !r.Decided || wait(t, q).State != approval.StateRejected {
			t.Errorf("one no is enough: %+v", r)
		}
	})
}

func TestBadRequestsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		for name, change := range map[string]func(*approval.Request){
			"no principal": func(r *approval.Request) { r.Principal = "" },
			"no kind":      func(r *approval.Request) { r.Kind = "" },
			"no JSON":      func(r *approval.Request) { r.Arguments = json.RawMessage("{") },
			"not UTF-8":    func(r *approval.Request) { r.Arguments = json.RawMessage("\"\xff\"") },
			"odd id":       func(r *approval.Request) { r.ID = "a\x00b" },
			"huge":         func(r *approval.Request) { r.Reason = string(make([]byte, 1<<20)) },
		} {
			req := request()
			change(&req)
			if _, err := in.Ask(t.Context(), req); !errors.Is(err, approval.ErrInvalid) {
				t.Errorf("%s: %v; want approval.ErrInvalid", name, err)
			}
		}
		req := request()
		req.ID, req.Title = "chosen", "odd \x00 \xff text"
		ask(t, in, req)
		if _, err := in.Ask(t.Context(), req); !errors.Is(err, approval.ErrInvalid) {
			t.Errorf("the same id twice: %v", err)
		}
	})
}

func TestCancellingAConversationCancelsWhatItWaitsFor(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		req := request()
		req.Task, req.Conversation = "", "c-1"
		var mine []*approval.Pending
		for range 3 {
			mine = append(mine, ask(t, in, req))
		}
		answer(t, in, alice, mine[2].ID(), approval.Answer{Approved: true})
		theirs := ask(t, in, request())
		if n, err := in.CancelConversation(t.Context(), "", "nothing"); err != nil || n != 0 {
			t.Errorf("no conversation cancelled %d questions, %v; want none", n, err)
		}
		if n, err := in.CancelConversation(t.Context(), "c-1", "deleted"); err != nil || n != 2 {
			t.Errorf("the conversation cancelled %d questions, %v; want the two that wait", n, err)
		}
		if out := wait(t, mine[0]); out.State != approval.StateCancelled || out.Reason != "deleted" {
			t.Errorf("the question ended as %+v, want cancelled because it was deleted", out)
		}
		if r := answer(t, in, alice, theirs.ID(), approval.Answer{Approved: true}); !r.Decided {
			t.Errorf("a task's question was answered with %+v, want it to be open still", r)
		}
	})
}

func TestAnUnansweredQuestionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := open(t, storetest.SQLite(t), newBus(t), approval.Options{})
		start := time.Now()
		short, long := request(), request()
		short.Timeout, long.Timeout = 10*time.Second, 0
		first, second := ask(t, in, short), ask(t, in, long)
		if out := wait(t, first); out.State != approval.StateExpired || out.By != "" || time.Since(start) != 10*time.Second {
			t.Errorf("%+v after %v", out, time.Since(start))
		}
		if r := answer(t, in, alice, first.ID(), approval.Answer{Approved: true}); r.Decided || r.Item.Outcome.State != approval.StateExpired {
			t.Errorf("late: %+v", r)
		}
		<-time.After(5*time.Minute - 11*time.Second)
		if n, err := in.Waiting(t.Context(), "id-alice"); err != nil || n != 1 {
			t.Errorf("a second before its five minutes are over %d questions wait, %v; want the one", n, err)
		}
		if out := wait(t, second); out.State != approval.StateExpired || time.Since(start) != 5*time.Minute {
			t.Errorf("a question without a time of its own ended as %+v after %v, want expired after five minutes", out, time.Since(start))
		}
		_ = in.Close()
	})
}

func TestAQuestionOutlivesTheHubAndItsTimeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		before := open(t, db, newBus(t), approval.Options{})
		answered, expired := ask(t, before, request()), ask(t, before, request())
		done := ask(t, before, request())
		answer(t, before, alice, done.ID(), approval.Answer{Approved: true})
		_ = before.Close()
		if _, err := answered.Wait(t.Context()); !errors.Is(err, approval.ErrClosed) {
			t.Errorf("waiting on a closed inbox: %v", err)
		}
		<-time.After(20 * time.Second)
		after := open(t, db, newBus(t), approval.Options{})
		again, err := after.Resume(t.Context(), answered.ID())
		if err != nil || again.Item().Left(time.Now()) != 40*time.Second {
			t.Fatalf("%+v, %v", again, err)
		}
		if p, err := after.Resume(t.Context(), done.ID()); err != nil || !wait(t, p).Approved() {
			t.Errorf("decided before: %v", err)
		}
		if _, err := after.Resume(t.Context(), "unknown"); !errors.Is(err, approval.ErrNotFound) {
			t.Errorf("unknown: %v", err)
		}
		answer(t, after, alice, answered.ID(), approval.Answer{Approved: true})
		if !wait(t, again).Approved() {
			t.Error("not approved")
		}
		p, err := after.Resume(t.Context(), expired.ID())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if out := wait(t, p); out.State != approval.StateExpired || time.Since(start) != 40*time.Second {
			t.Errorf("%+v after %v", out, time.Since(start))
		}
		_ = after.Close()
	})
}

func TestWhatExpiredWhileNoHubRanIsExpiredAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		before := open(t, db, newBus(t), approval.Options{})
		p := ask(t, before, request())
		_ = before.Close()
		<-time.After(time.Hour)
		after := open(t, db, newBus(t), approval.Options{})
		synctest.Wait()
		if n, err := after.Waiting(t.Context(), "id-alice"); err != nil || n != 0 {
			t.Errorf("%d waiting, %v", n, err)
		}
		if again, err := after.Resume(t.Context(), p.ID()); err != nil || wait(t, again).State != approval.StateExpired {
			t.Errorf("%v; want no error, wait(t, again).State to be %v", err, approval.StateExpired)
		}
		_ = after.Close()
	})
}

// An answer that arrives after the time but before the hub noticed is late too.
func TestAnAnswerAfterTheTimeIsLateEvenIfNobodyLooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		in := open(t, db, newBus(t), approval.Options{})
		p := ask(t, in, request())
		synctest.Wait()
		// The clock passes the end without the follower having run.
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE approvals SET expires_at = ? WHERE id = ?`, store.Micros(time.Now()), p.ID())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := answer(t, in, alice, p.ID(), approval.Answer{Approved: true}); r.Decided || r.Item.Outcome.State != approval.StateExpired {
			t.Errorf("%+v; want not r.Decided, r.Item.Outcome.State to be %v", r, approval.StateExpired)
		}
		if wait(t, p).State != approval.StateExpired {
			t.Error("not expired")
		}
		_ = in.Close()
	})
}

func TestQuestionsAndDecisionsAreAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		trail, err := audit.Open(t.Context(), db, audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = trail.Close() })
		in := open(t, db, newBus(t), approval.Options{Audit: trail})
		p := ask(t, in, request())
		answer(t, in, alice, p.ID(), approval.Answer{Approved: true, Reason: "private words"})
		answer(t, in, alice, p.ID(), approval.Answer{})
		got, err := trail.Query(t.Context(), audit.Filter{Target: p.ID()})
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v; want no error, len(got) to be 2", got, err)
		}
		asked, resolved := got[0], got[1]
		if asked.Action != "approval.asked" || asked.Actor != "agent:parley" || asked.OnBehalf != "person:alice" || asked.Digest != p.Item().Digest || asked.Detail["tool"] != "shell" {
			t.Errorf("asked %+v", asked)
		}
		if resolved.Action != "approval.resolved" || resolved.Actor != "person:alice" || resolved.Outcome != "approved" || resolved.Detail["by_token"] != "token-alice" || resolved.Duration < 0 {
			t.Errorf("resolved %+v", resolved)
		}
		if report, err := trail.Verify(t.Context()); err != nil || !report.OK {
			t.Errorf("%+v, %v; want no error, report.OK", report, err)
		}
	})
}

// A yes that does not decide yet, and an answer of somebody who may not, are decisions too.
func TestVotesAndRefusedAnswersAreInTheTrailOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		trail, err := audit.Open(t.Context(), db, audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = trail.Close() })
		in := open(t, db, newBus(t), approval.Options{Audit: trail})
		req := request()
		req.Quorum, req.Policy.People = 2, []string{"id-bob"}
		p := ask(t, in, req)
		weak := person("bob")
		weak.Scopes = identity.Expand(identity.ApprovalRead)
		if _, err := in.Answer(t.Context(), weak, p.ID(), approval.Answer{Approved: true}); !errors.Is(err, approval.ErrForbidden) {
			t.Fatalf("an answer without the scope: %v", err)
		}
		for range 2 {
			answer(t, in, alice, p.ID(), approval.Answer{Approved: true})
		}
		answer(t, in, person("bob"), p.ID(), approval.Answer{Approved: true})
		_ = trail.Close() // the refused answer is a note
		got, err := trail.Query(t.Context(), audit.Filter{Target: p.ID()})
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, r := range got {
			counts[string(r.Action)+" "+r.Actor+" "+r.Outcome]++
		}
		want := map[string]int{
			"approval.asked agent:parley ok": 1, "approval.voted person:alice ok": 1, "approval.refused person:bob forbidden": 1, "approval.resolved person:bob approved": 1,
		}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("each once in the trail:\n%s", diff)
		}
	})
}

func TestListsAreFiltered(t *testing.T) {
	each(t, func(t *testing.T, in *approval.Inbox) {
		one, two := request(), request()
		two.Principal, two.Kind, two.Task = "id-bob", approval.KindAsk, "task-2"
		a, b := ask(t, in, one), ask(t, in, two)
		answer(t, in, alice, a.ID(), approval.Answer{Approved: true})
		for name, c := range map[string]struct {
			f    approval.Filter
			want []string
		}{
			"all":     {approval.Filter{}, []string{b.ID(), a.ID()}},
			"pending": {approval.Filter{States: []approval.State{approval.StatePending}}, []string{b.ID()}},
			"alice":   {approval.Filter{Principal: "id-alice"}, []string{a.ID()}},
			"task":    {approval.Filter{Task: "task-2"}, []string{b.ID()}},
			"kind":    {approval.Filter{Kind: approval.KindTool}, []string{a.ID()}},
			"limit":   {approval.Filter{Limit: 1}, []string{b.ID()}},
		} {
			got, err := in.List(t.Context(), c.f)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, item := range got {
				ids = append(ids, item.ID)
			}
			if diff := cmp.Diff(c.want, ids); diff != "" {
				t.Errorf("%s: %s; want no difference", name, diff)
			}
		}
	})
}

func TestOppositeAnswersAtOnceOnTwoHubs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		shared := newBus(t)
		peer := shared.Peer()
		t.Cleanup(func() { _ = peer.Close() })
		hubs := []*approval.Inbox{open(t, db, shared, approval.Options{}), open(t, db, peer, approval.Options{})}
		for range 10 {
			p := ask(t, hubs[0], request())
			q, err := hubs[1].Resume(t.Context(), p.ID())
			if err != nil {
				t.Fatal(err)
			}
			results := make([]approval.Result, 6)
			var group sync.WaitGroup
			for i := range results {
				group.Go(func() {
					var err error
					if i == 5 {
						_, err = hubs[1].Cancel(t.Context(), p.ID(), "stop")
					} else {
						results[i], err = hubs[i%2].Answer(t.Context(), alice, p.ID(), approval.Answer{Approved: i%3 == 0, Reason: fmt.Sprint(i)})
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			out := wait(t, p)
			if diff := cmp.Diff(out, wait(t, q)); diff != "" {
				t.Errorf("the hubs disagree: %s", diff)
			}
			decided := 0
			for i, r := range results[:5] {
				if r.Decided {
					decided++
				}
				if diff := cmp.Diff(out, r.Item.Outcome); diff != "" {
					t.Errorf("answer %d was told otherwise: %s", i, diff)
				}
			}
			if want := 1; out.State == approval.StateCancelled && decided != 0 || out.State != approval.StateCancelled && decided != want {
				t.Errorf("%d answers decided %+v", decided, out)
			}
		}
	})
}
