package relaytest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
)

// model is what the relay should hold: lists, and what became of each message.
type model struct {
	*House
	t     testing.TB
	rt    *rapid.T
	from  string
	queue map[string][]modelled
	lent  map[string][]modelled
	acts  map[string]int
}

type modelled struct {
	id    string
	order int
	ends  time.Duration // on the model's clock
}

// Model holds a relay against lists: whatever is done in whichever order, with hubs
// that end without a word, writes the database refuses, and time that passes, nothing
// is lost, doubled or out of order, and the audit says what happened.
func Model(t *testing.T, db *store.DB) {
	run, ahead := 0, int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		run++
		h := Open(t, db, 1000)
		h.Ahead.Store(ahead)
		m := &model{
			House: h, t: t, rt: rt, from: fmt.Sprint("ada", run),
			queue: map[string][]modelled{}, lent: map[string][]modelled{}, acts: map[string]int{},
		}
		defer func() { ahead = h.Ahead.Load() }() // time goes on
		bob, cal := fmt.Sprint("bob", run), fmt.Sprint("cal", run)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			m.step(rapid.SampledFrom([]string{bob, cal}).Draw(rt, "to"))
		}
		m.check(bob)
		m.check(cal)
		m.audited()
	})
}

func (m *model) step(to string) {
	switch rapid.SampledFrom([]string{"send", "send", "send", "receive", "receive", "lend", "settle", "restart", "recount", "broken", "pass", "sweep", "check"}).Draw(m.rt, "op") {
	case "send":
		m.send(to)
	case "receive":
		m.receive(to, 0)
	case "lend":
		m.receive(to, TTL)
	case "settle":
		m.settle(to)
	case "restart":
		m.Reopen(m.t)
	case "recount":
		if err := m.Recount(m.t.Context()); err != nil {
			m.rt.Fatal(err)
		}
	case "broken":
		m.broken(to)
	case "pass":
		m.Pass(rapid.SampledFrom([]time.Duration{time.Minute, 4 * time.Minute}).Draw(m.rt, "time"))
		m.expire()
	case "sweep":
		m.sweep()
	case "check":
		m.check(to)
	}
}

// at is coarse: whatever a test takes in real time is less than a minute.
func (m *model) at() time.Duration { return time.Duration(m.Ahead.Load()) }

func (m *model) send(to string) {
	s := m.Letter(m.from, to)
	if rapid.Bool().Draw(m.rt, "keyed") {
		s.Message.Key = fmt.Sprint("k", m.next)
	}
	if err := m.Send(m.t.Context(), s); err != nil {
		m.rt.Fatal(err)
	}
	m.acts[relay.Enqueue]++
	m.queue[to] = append(m.queue[to], modelled{s.Message.ID, m.next, m.at() + TTL})
	if s.Message.Key == "" {
		return
	}
	again := &relay.Sending{Message: new(relay.Message)}
	*again.Message = *s.Message
	if err := m.Send(m.t.Context(), again); err != nil || again.First == nil || again.First.ID != s.Message.ID {
		m.rt.Fatalf("sent again it is the first once more: %+v %v", again.First, err)
	}
}

// expire ends what the clock has ended.
func (m *model) expire() {
	for _, lists := range []map[string][]modelled{m.queue, m.lent} {
		for to, list := range lists {
			lists[to] = slices.DeleteFunc(list, func(one modelled) bool {
				gone := one.ends <= m.at()
				if gone {
					m.acts[relay.Expiry]++
				}
				return gone
			})
		}
	}
}

func (m *model) receive(to string, lease time.Duration) {
	limit := rapid.IntRange(1, 4).Draw(m.rt, "limit")
	q := m.Fetch(m.t, to, limit, lease)
	took := slices.Clone(m.queue[to][:min(limit, len(m.queue[to]))])
	if diff := cmp.Diff(idsOf(took), IDs(q.Took)); diff != "" || q.More != (len(m.queue[to]) > limit) {
		m.rt.Fatalf("%s, more %v:\n%s", to, q.More, diff)
	}
	m.queue[to] = m.queue[to][len(took):]
	if lease > 0 {
		m.lent[to] = append(m.lent[to], took...)
	} else {
		m.acts[relay.Dequeue] += len(took)
	}
}

func (m *model) settle(to string) {
	if len(m.lent[to]) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.lent[to])-1).Draw(m.rt, "which")
	one := m.lent[to][i]
	m.lent[to] = slices.Delete(m.lent[to], i, i+1)
	done, back := []string{one.id}, []string(nil)
	if rapid.Bool().Draw(m.rt, "back") {
		done, back = nil, done
		m.queue[to] = append(m.queue[to], one)
		slices.SortFunc(m.queue[to], func(a, b modelled) int { return a.order - b.order })
	} else {
		m.acts[relay.Dequeue]++
	}
	if got := m.Settled(m.t, to, done, back); len(got.Unknown) > 0 {
		m.rt.Fatalf("%v was lent and is unknown", got.Unknown)
	}
}

// broken has the database refuse a step: what is not acknowledged has not happened.
func (m *model) broken(to string) {
	table := rapid.SampledFrom([]string{"place_messages", "place_audit"}).Draw(m.rt, "table")
	mend := m.Break(m.t, table)
	defer mend()
	if err := m.Send(m.t.Context(), m.Letter(m.from, to)); err == nil {
		m.rt.Fatal("a send that could not be stored was acknowledged")
	}
	if table == "place_audit" && len(m.queue[to]) > 0 {
		if err := m.Receive(m.t.Context(), &relay.Receiving{Queue: to, Limit: 2}); err == nil {
			m.rt.Fatal("a message was handed out though that could not be stored")
		}
	}
}

func (m *model) sweep() {
	for {
		gone, err := m.Expire(m.t.Context())
		if err != nil {
			m.rt.Fatal(err)
		}
		if len(gone) == 0 {
			return
		}
	}
}

// check compares what can be asked with the model.
func (m *model) check(to string) {
	if s := m.state(m.t, to); s.Pending != len(m.queue[to]) || s.Leased != len(m.lent[to]) {
		m.rt.Fatalf("%+v, want %d and %d", s, len(m.queue[to]), len(m.lent[to]))
	}
	m.read(m.t, func(tx *store.Tx) error {
		found, total, err := m.Peek(tx, to, 100)
		if diff := cmp.Diff(idsOf(m.queue[to]), IDs(found)); diff != "" || total != len(found) {
			m.rt.Fatalf("%s, %d in all:\n%s", to, total, diff)
		}
		some, _, waitsErr := m.Waits(tx, to)
		if some != (len(found) > 0) {
			m.rt.Fatalf("something waits: %v, and there are %d", some, len(found))
		}
		if err == nil {
			err = waitsErr
		}
		return err
	})
}

func idsOf(list []modelled) []string {
	ids := []string{}
	for _, one := range list {
		ids = append(ids, one.id)
	}
	return ids
}

// audited compares the audit with what was done.
func (m *model) audited() {
	m.sweep()
	maps.DeleteFunc(m.acts, func(_ string, n int) bool { return n == 0 })
	if diff := cmp.Diff(m.acts, m.Noted(m.t, m.from)); diff != "" {
		m.rt.Fatalf("the audit:\n%s", diff)
	}
}
