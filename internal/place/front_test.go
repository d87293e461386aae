package place_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley/internal/identity"
	"parley/internal/place"
	"parley/internal/store"
	"parley/internal/store/storetest"
	"parley/protocol/mmp"
	"parley/protocol/mmp/board"
	"parley/protocol/mmp/relay"
	"parley/test/pgtest"
)

// relayModel is what the relay should hold: lists, and what became of each message.
type relayModel struct {
	rt    *rapid.T
	db    *store.DB
	p     *place.Place
	clk   *clock
	from  string
	next  int
	queue map[string][]modelled
	lent  map[string][]modelled
	acts  map[string]int
}

type modelled struct {
	blob, id string
	order    int
	ends     time.Duration // on the model's clock
}

const modelTTL = 10 * time.Minute

// reopen is the end of a hub without a word, and the start of another.
func (m *relayModel) reopen(t *testing.T) {
	at := m.clk.ahead.Load()
	m.p, m.clk = open(t, m.db, place.Config{Auth: place.Open, QueueLimit: 1000, RelayTTL: modelTTL, MaxUnknown: 1 << 30, Sync: place.SyncOS})
	m.clk.ahead.Store(at)
	switch rapid.IntRange(0, 3).Draw(m.rt, "held") {
	case 0:
		m.p.HoldFew(2)
	case 1:
		m.p.HoldNone()
	}
}

// now is coarse: whatever a test takes in real time is less than a minute.
func (m *relayModel) now() time.Duration { return time.Duration(m.clk.ahead.Load()) }

func (m *relayModel) request(to, key string) *relay.SendRequest {
	blob := fmt.Sprint("b", m.next)
	m.next++
	return &relay.SendRequest{From: m.from, To: to, Blob: []byte(blob), BlobHash: mmp.HashOf(blob).Bare(), MessageType: "test", IdempotencyKey: key}
}

func (m *relayModel) send(t *testing.T, to string) {
	key := ""
	if rapid.Bool().Draw(m.rt, "keyed") {
		key = fmt.Sprint("k", m.next)
	}
	req := m.request(to, key)
	out, err := m.p.Send(t.Context(), stranger, req)
	if err != nil {
		m.rt.Fatal(err)
	}
	m.acts["enqueue"]++
	m.queue[to] = append(m.queue[to], modelled{string(req.Blob), out.RelayID, m.next, m.now() + modelTTL})
	if key == "" {
		return
	}
	if again, err := m.p.Send(t.Context(), stranger, req); err != nil || !again.Duplicate || again.RelayID != out.RelayID {
		m.rt.Fatalf("again: %+v %v", again, err)
	}
}

// expire ends what the clock has ended.
func (m *relayModel) expire() {
	for _, lists := range []map[string][]modelled{m.queue, m.lent} {
		for to, list := range lists {
			lists[to] = slices.DeleteFunc(list, func(one modelled) bool {
				gone := one.ends <= m.now()
				if gone {
					m.acts["expired"]++
				}
				return gone
			})
		}
	}
}

func (m *relayModel) receive(t *testing.T, to string, manual bool) {
	limit := rapid.IntRange(1, 4).Draw(m.rt, "limit")
	out, err := m.p.Receive(t.Context(), stranger, relay.ReceiveQuery{AgentID: to, Limit: limit, ManualAck: manual, Lease: 600 * time.Second})
	if err != nil {
		m.rt.Fatal(err)
	}
	var got []string
	for _, one := range out.Messages {
		got = append(got, one.Blob)
	}
	took := slices.Clone(m.queue[to][:min(limit, len(m.queue[to]))])
	if diff := cmp.Diff(blobsOf(took), got); diff != "" || out.More != (len(m.queue[to]) > limit) {
		m.rt.Fatalf("%s, more %v:\n%s", to, out.More, diff)
	}
	m.queue[to] = m.queue[to][len(took):]
	if manual {
		m.lent[to] = append(m.lent[to], took...)
	} else {
		m.acts["dequeue"] += len(took)
	}
}

func (m *relayModel) settle(t *testing.T, to string) {
	if len(m.lent[to]) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.lent[to])-1).Draw(m.rt, "which")
	one := m.lent[to][i]
	m.lent[to] = slices.Delete(m.lent[to], i, i+1)
	req := &relay.AckRequest{AgentID: to, IDs: []string{one.id}}
	if rapid.Bool().Draw(m.rt, "back") {
		req.IDs, req.Release = nil, req.IDs
		m.queue[to] = append(m.queue[to], one)
		slices.SortFunc(m.queue[to], func(a, b modelled) int { return a.order - b.order })
	} else {
		m.acts["dequeue"]++
	}
	if out, err := m.p.Ack(t.Context(), stranger, req); err != nil || len(out.Unknown) > 0 {
		m.rt.Fatalf("%+v %v", out, err)
	}
}

// broken has the database refuse one step, and perhaps the log too: what is not
// acknowledged has not happened.
func (m *relayModel) broken(t *testing.T, to string) {
	step := rapid.SampledFrom([]string{"INSERT ON place_parcels", "INSERT ON place_messages", "DELETE ON place_parcels", "INSERT ON place_audit", "INSERT ON place_meta"}).Draw(m.rt, "step")
	m.exec(t, `CREATE TRIGGER broken BEFORE `+step+` BEGIN SELECT RAISE(ABORT, 'broken'); END`)
	defer func() {
		m.exec(t, `DROP TRIGGER broken`)
		if err := m.p.Bundle(t.Context()); err != nil { // a second passes
			m.rt.Fatal(err)
		}
	}()
	if rapid.Bool().Draw(m.rt, "log") {
		m.p.CloseLog()
	}
	if step != "INSERT ON place_parcels" {
		_ = m.p.Tidy(t.Context())
		return
	}
	req := m.request(to, "")
	switch out, err := m.p.Send(t.Context(), stranger, req); {
	case err == nil:
		m.acts["enqueue"]++
		m.queue[to] = append(m.queue[to], modelled{string(req.Blob), out.RelayID, m.next, m.now() + modelTTL})
	case !errors.Is(err, mmp.ErrStorage):
		m.rt.Fatalf("a send that could not be stored: %v", err)
	}
	switch out, err := m.p.Receive(t.Context(), stranger, relay.ReceiveQuery{AgentID: to, Limit: 1}); {
	case err == nil && out.Count > 0:
		m.acts["dequeue"]++
		if out.Messages[0].ID != m.queue[to][0].id {
			m.rt.Fatalf("%+v, want %+v", out.Messages[0], m.queue[to][0])
		}
		m.queue[to] = m.queue[to][1:]
	case err == nil && len(m.queue[to]) > 0:
		m.rt.Fatal("nothing was handed out")
	case err != nil && !errors.Is(err, mmp.ErrStorage):
		m.rt.Fatal(err)
	}
}

func (m *relayModel) exec(t *testing.T, query string) {
	err := m.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(query)
		return err
	})
	if err != nil {
		m.rt.Fatal(err)
	}
}

// check compares what can be asked with the model.
func (m *relayModel) check(t *testing.T, to string) {
	status, err := m.p.QueueStatus(t.Context(), stranger, to)
	if err != nil || status.PendingCount != len(m.queue[to]) || status.LeasedCount != len(m.lent[to]) {
		m.rt.Fatalf("%+v %v, want %d and %d", status, err, len(m.queue[to]), len(m.lent[to]))
	}
	out, err := m.p.Peek(t.Context(), stranger, relay.ReceiveQuery{AgentID: to, Limit: 100})
	if err != nil {
		m.rt.Fatal(err)
	}
	var got []string
	for _, one := range out.Messages {
		got = append(got, one.Blob)
	}
	if diff := cmp.Diff(blobsOf(m.queue[to]), got); diff != "" {
		m.rt.Fatalf("%s:\n%s", to, diff)
	}
}

func blobsOf(list []modelled) (blobs []string) {
	for _, one := range list {
		blobs = append(blobs, one.blob)
	}
	return blobs
}

// audited compares the audit with what was done.
func (m *relayModel) audited(t *testing.T) {
	if err := m.p.Sweep(t.Context()); err != nil {
		m.rt.Fatal(err)
	}
	out, err := m.p.Audit(t.Context(), place.Visitor{Actor: identity.Hub()}, board.AuditQuery{Type: board.AuditRelay, AgentID: m.from, Limit: 10_000})
	if err != nil {
		m.rt.Fatal(err)
	}
	got := map[string]int{}
	for i, e := range out.Entries {
		got[e.Action]++
		if i > 0 && e.Timestamp.Before(out.Entries[i-1].Timestamp.Time) {
			m.rt.Fatalf("%+v comes after %+v", e, out.Entries[i-1])
		}
	}
	maps.DeleteFunc(m.acts, func(_ string, n int) bool { return n == 0 })
	if diff := cmp.Diff(m.acts, got); diff != "" {
		m.rt.Fatalf("the audit:\n%s", diff)
	}
}

// TestNoSequenceWithRestartsFailuresAndTimeLosesOrDoublesAnything holds the relay
// against a model, with hubs that end without a word, steps the database refuses,
// and time that passes.
func TestNoSequenceWithRestartsFailuresAndTimeLosesOrDoublesAnything(t *testing.T) {
	db, clk, run := storetest.SQLite(t), &clock{}, 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		bob, cal := fmt.Sprint("bob", run), fmt.Sprint("cal", run)
		m := &relayModel{
			rt: rt, db: db, clk: clk, from: fmt.Sprint("ada", run),
			queue: map[string][]modelled{}, lent: map[string][]modelled{}, acts: map[string]int{},
		}
		defer func() { clk = m.clk }() // time goes on
		m.reopen(t)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			to := rapid.SampledFrom([]string{bob, cal}).Draw(rt, "to")
			switch rapid.SampledFrom([]string{"send", "send", "send", "receive", "receive", "lend", "settle", "restart", "restart", "tidy", "fill", "break", "broken", "pass", "check", "note"}).Draw(rt, "op") {
			case "send":
				m.send(t, to)
			case "receive":
				m.receive(t, to, false)
			case "lend":
				m.receive(t, to, true)
			case "settle":
				m.settle(t, to)
			case "restart":
				m.reopen(t)
			case "break": // it has what it says it has not; the database does it again
				m.p.BreakLog(true)
				m.send(t, to)
				m.p.BreakLog(false)
			case "fill":
				m.p.FillLog(rapid.Bool().Draw(rt, "full"))
			case "tidy":
				if err := m.p.Tidy(t.Context()); err != nil {
					rt.Fatal(err)
				}
			case "broken":
				m.broken(t, to)
			case "pass":
				m.clk.pass(rapid.SampledFrom([]time.Duration{time.Minute, 4 * time.Minute}).Draw(rt, "time"))
				m.expire()
			case "check":
				m.check(t, to)
			case "note":
				if _, err := m.p.Post(t.Context(), stranger, &board.PostRequestBody{AgentID: m.from, Type: "announcement", TTL: time.Hour}); err != nil && !errors.Is(err, mmp.MaxPostings(10)) {
					rt.Fatal(err)
				}
			}
		}
		for _, to := range []string{bob, cal} {
			m.check(t, to)
		}
		m.audited(t)
	})
}

// TestMessagesThatStayGetRowsAndParcelsGo: memory and the log of parcels are
// bounded by what is new.
func TestMessagesThatStayGetRowsAndParcelsGo(t *testing.T) {
	db := storetest.SQLite(t)
	p, clk := open(t, db, place.Config{Auth: place.Open, QueueLimit: 1000, Sync: place.SyncOS})
	const many = 300 // more than get rows in one transaction
	for i := range many {
		send(t, p, stranger, "ada", "cal", fmt.Sprint(i))
	}
	for i := range 5 {
		send(t, p, stranger, "ada", "bob", fmt.Sprint(i))
	}
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob", Limit: 2}); len(got) != 2 || p.Fresh() != many+3 {
		t.Fatalf("%v, %d new", got, p.Fresh())
	}
	stats, err := p.RelayStats(t.Context(), stranger)
	if err != nil || stats.TotalMessages != many+3 || stats.ActiveQueues != 2 || stats.MaxSizeBytes != 3 {
		t.Errorf("%+v %v", stats, err)
	}
	clk.pass(6 * time.Minute)
	for range 2 { // the parcel that says what got a row is behind the others
		if err := p.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var parcels, rows int
	err = db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT (SELECT count(*) FROM place_parcels), (SELECT count(*) FROM place_messages)`).Scan(&parcels, &rows)
	})
	if err != nil || parcels != 0 || rows != many+3 || p.Fresh() != 0 {
		t.Errorf("%d parcels, %d rows, %d new, %v", parcels, rows, p.Fresh(), err)
	}
	send(t, p, stranger, "ada", "bob", "5")
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, []string{"2", "3", "4", "5"}) {
		t.Errorf("%v", got)
	}
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "cal", Limit: 2}); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("%v", got)
	}
}

// TestAHubAmongOthersTakesInWhatABackupBroughtAlong: a backup may have been made
// where a hub was alone.
func TestAHubAmongOthersTakesInWhatABackupBroughtAlong(t *testing.T) {
	db := storetest.SQLite(t)
	alone, _ := open(t, db, place.Config{Auth: place.Open})
	for i := range 3 {
		send(t, alone, stranger, "ada", "bob", fmt.Sprint(i))
	}
	receive(t, alone, stranger, relay.ReceiveQuery{AgentID: "bob", Limit: 1})
	if err := alone.Bundle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var dump bytes.Buffer
	if err := db.Dump(t.Context(), &dump); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"SQLite": filepath.Join(t.TempDir(), "new.db"), "PostgreSQL": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			if err := store.Load(t.Context(), target, bytes.NewReader(dump.Bytes()), store.Options{}); err != nil {
				t.Fatal(err)
			}
			p, _ := open(t, storetest.Open(t, target), place.Config{Auth: place.Open}, func(d *place.Deps) { d.Clustered = true })
			if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, []string{"1", "2"}) {
				t.Errorf("%v", got)
			}
			out, err := p.Audit(t.Context(), place.Visitor{Actor: identity.Hub()}, board.AuditQuery{Type: board.AuditRelay, Limit: 100})
			if err != nil || out.Count != 6 {
				t.Errorf("%d entries, %v", out.Count, err)
			}
		})
	}
}
