package fleet_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/bus"
	"parley.internal/internal/bus/bustest"
	"parley.internal/internal/fleet"
	"parley.internal/internal/fleet/call"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// hubs is a cluster on one database and one bus. No hub of it is taken for dead, however
// long a busy machine keeps it waiting.
func hubs(t testing.TB, db *store.DB, n int, change func(*fleet.Deps)) []*world {
	t.Helper()
	return cluster(t, db, n, setup{deps: change, lease: lease.Options{TTL: time.Hour, Renew: time.Second}})
}

// mortalHubs are taken for dead as soon as hubs in service are: for tests with a clock of their own.
func mortalHubs(t testing.TB, n int) []*world {
	t.Helper()
	return cluster(t, nil, n, setup{})
}

func cluster(t testing.TB, db *store.DB, n int, s setup) []*world {
	t.Helper()
	exchange := bus.NewLocal()
	t.Cleanup(func() { _ = exchange.Close() })
	var list []*world
	var key ed25519.PrivateKey
	for i := range n {
		peer := exchange.Peer()
		t.Cleanup(func() { _ = peer.Close() })
		s.db, s.key, s.bus, s.name, s.shared = db, key, peer, fmt.Sprintf("hub%d", i), true
		w := newWorld(t, s)
		key, db = w.key, w.db
		list = append(list, w)
	}
	return list
}

func TestACallReachesAMachineOnAnotherHub(t *testing.T) {
	onBoth(t, func(t *testing.T, db *store.DB) {
		h := hubs(t, db, 2, nil)
		m := h[0].join("lab.pc-1").echoes()
		h[1].until("the other hub knows it", func() bool {
			v, err := h[1].fleet.Machine(t.Context(), op(), "lab.pc-1")
			return err == nil && v.Online
		})
		done, err := h[1].call(op(), "lab.pc-1", "fs_list", `{"path":"/tmp"}`)
		if err != nil || string(done.Result) != `{"path":"/tmp"}` {
			t.Errorf("%+v %v", done, err)
		}
		m.answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) {
			return nil, &kenny.Error{Code: "not_found", Message: "no such file"}
		})
		_, err = h[1].call(op(), "lab.pc-1", "fs_list", `{"path":"/x"}`)
		if e := wantCode(t, err, fault.NotFound); !e.FromMachine || e.Message != "no such file" {
			t.Errorf("%+v", e)
		}
		m.leave()
		h[1].until("gone there too", func() bool { return h[1].view("lab.pc-1").Presence == fleet.Off })
		_, err = h[1].call(op(), "lab.pc-1", "fs_list", `{"path":"/x"}`)
		wantCode(t, err, fault.Offline)
	})
}

func TestAResultAboveTheBusLimitArrivesIntact(t *testing.T) {
	h := hubs(t, nil, 2, nil)
	big := `{"content":"` + strings.Repeat("0123456789abcdef", 7<<20/16) + `"}`
	h[0].join("pc").answers(func(*kenny.Request) (jsontext.Value, *kenny.Error) { return jsontext.Value(big), nil })
	h[1].until("known", func() bool { _, err := h[1].fleet.Machine(t.Context(), op(), "pc"); return err == nil })
	done, err := h[1].call(op(), "pc", "fs_read", `{"path":"/big"}`)
	if err != nil || string(done.Result) != big {
		t.Errorf("%d of %d bytes, %v", len(done.Result), len(big), err)
	}
}

// A machine that changes hubs over and over while calls come from everywhere must
// run each call at most once.
func TestNoCallRunsTwiceWhileAMachineMoves(t *testing.T) {
	h := hubs(t, nil, 2, nil)
	key := h[0].enrol("pc")
	var mu sync.Mutex
	ran := map[string]int{}
	count := func(r *kenny.Request) (jsontext.Value, *kenny.Error) {
		mu.Lock()
		defer mu.Unlock()
		ran[r.ID]++
		return jsontext.Value(`{}`), nil
	}
	h[1].until("known", func() bool { _, err := h[1].fleet.Machine(t.Context(), op(), "pc"); return err == nil })
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var answered atomic.Int64
	for i := range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				_, err := h[i%2].fleet.Call(context.Background(), op(), call.Request{Machine: "pc", Tool: "net_dns_flush", Timeout: time.Second})
				if err == nil {
					answered.Add(1)
				} else if c := fault.CodeOf(err); c != fault.Offline && c != fault.Busy && c != fault.Timeout {
					t.Errorf("%v", err)
				}
			}
		})
	}
	var last *fake
	for i := range 12 {
		f := h[i%2].newFake("pc", key).answers(count)
		if err := f.dial(); err != nil {
			t.Fatal(err)
		}
		if last != nil {
			if code := receive(t, last.closed, "the old hub lets go"); code != kenny.CloseReplaced {
				t.Errorf("closed %d", code)
			}
			last.gone(fleet.Gone{Code: kenny.CloseReplaced}) // late, and of no consequence
		}
		before := answered.Load()
		h[0].until("calls get through", func() bool { return answered.Load() > before+3 })
		last = f
	}
	stop()
	callers.Wait()
	mu.Lock()
	defer mu.Unlock()
	for id, n := range ran {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	if v := h[1].view("pc"); !v.Online {
		t.Errorf("%+v", v)
	}
}

func TestADeadHubsMachinesAreReachableAfterTheyReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mortalHubs(t, 2)
		key := h[0].enrol("pc")
		m := h[0].connect("pc", key)
		<-time.After(2 * time.Second)
		began := time.Now()
		failed := make(chan error, 1)
		go func() {
			_, err := h[1].fleet.Call(context.Background(), op(), call.Request{Machine: "pc", Tool: "net_config", Timeout: time.Minute})
			failed <- err
		}()
		<-m.asked
		queuedAt := h[1]
		h[0].leases.Abandon() // as a crash would: nothing is given back, nobody answers
		wantCode(t, <-failed, fault.Offline)
		if d := time.Since(began); d > 12*time.Second {
			t.Errorf("noticed after %v", d)
		}
		<-time.After(5 * time.Second)
		if v := h[1].view("pc"); v.Online {
			t.Errorf("%+v", v)
		}
		q := must(queuedAt.fleet.Call(t.Context(), op(), call.Request{Machine: "pc", Tool: "net_config", QueueFor: time.Hour}))(t)
		again := h[1].echoing("pc", key)
		if r := <-again.asked; r.ID != q.CallID {
			t.Errorf("%+v", r)
		}
		again.replies.Wait()
		if _, err := h[1].call(op(), "pc", "net_config", ""); err != nil {
			t.Error(err)
		}
		// The dead hub's late words count for nothing.
		m.push(disk(99))
		m.cut()
		if v := h[1].view("pc"); !v.Online || v.Overall != kenny.StatusUnknown {
			t.Errorf("%+v", v)
		}
		again.leave()
	})
}

// Calls went to whichever hub of a group listened: one that hung still got its share of
// the calls of a machine that had long been elsewhere.
func TestAHungHubGetsNoCallsOfAMachineThatMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exchange, stopped := bus.NewLocal(), &bustest.Hanging{}
		t.Cleanup(func() { _ = exchange.Close() })
		var h []*world
		for i, b := range []bus.Bus{stopped, exchange.Peer(), exchange.Peer()} {
			s := setup{bus: b, name: fmt.Sprintf("hub%d", i), shared: true}
			if i == 0 {
				stopped.Bus = exchange.Peer()
			} else {
				s.db, s.key = h[0].db, h[0].key
			}
			h = append(h, newWorld(t, s))
		}
		key := h[0].enrol("pc")
		old := h[0].connect("pc", key)
		h[2].until("known", func() bool { v, err := h[2].fleet.Machine(t.Context(), op(), "pc"); return err == nil && v.Online })
		h[0].leases.Abandon()
		goOn := stopped.Hang()
		now := h[1].echoing("pc", key)
		for range 20 {
			if _, err := h[2].call(op(), "pc", "net_config", ""); err != nil {
				t.Errorf("a call did not reach the machine where it is now: %v", err)
			}
		}
		goOn()
		now.leave()
		old.cut()
	})
}

func TestRulesRemovalAndRevocationReachEveryHub(t *testing.T) {
	h := hubs(t, nil, 2, nil)
	a, b := h[0].join("a"), h[0].join("b")
	h[1].until("known", func() bool { _, err := h[1].fleet.Machine(t.Context(), op(), "b"); return err == nil })
	must(h[1].fleet.AddRule(t.Context(), op(), rule("op.x", "choco")))(t)
	h[0].until("the other hub's machines have the rule", func() bool { _, p := a.policies(); return len(p.Rules) == 1 })
	_, err := h[0].call(op(), "a", "shell_exec", `{"script":"choco"}`)
	wantCode(t, err, fault.Blocked)
	check(t, h[1].fleet.Remove(t.Context(), op(), "a"))
	if code := receive(t, a.closed, "removal"); code != kenny.CloseBadFrames {
		t.Errorf("closed %d", code)
	}
	none := time.Duration(0)
	check(t, h[1].bind("b", h[1].mint(fleet.MintRequest{Machine: "b", Rekey: true, Grace: &none}), newPublic(t)))
	if code := receive(t, b.closed, "revocation"); code != kenny.CloseUnauthorized {
		t.Errorf("closed %d", code)
	}
}

// The bus may lose the news; the store has it all the same.
func TestLostNewsCostsTimeOnly(t *testing.T) {
	db := hubs(t, nil, 1, nil)[0].db
	deaf := hubs(t, db, 1, nil)[0] // another exchange: it hears nobody
	other := hubs(t, db, 1, nil)[0]
	must(other.fleet.Create(t.Context(), op(), "pc", "", nil))(t)
	must(other.fleet.AddRule(t.Context(), op(), rule("op.y", "x")))(t)
	deaf.until("the machine and the rule are known", func() bool {
		_, err := deaf.fleet.Machine(t.Context(), op(), "pc")
		return err == nil && must(deaf.fleet.Rules(t.Context(), op()))(t).Revision == 1
	})
}

func TestACallQueuedOnOneHubIsDeliveredByAnother(t *testing.T) {
	h := hubs(t, nil, 2, quick)
	key := h[0].enrol("pc")
	q := h[0].queue("pc", "net_dns_flush", "", time.Hour)
	h[1].until("known", func() bool { _, err := h[1].fleet.Machine(t.Context(), op(), "pc"); return err == nil })
	h[1].echoing("pc", key)
	h[0].reaches(q.CallID, call.StateDone)
}
