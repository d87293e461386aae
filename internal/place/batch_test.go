package place_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	wire "parley.internal/protocol/mmp/relay"
)

// together runs n calls at once, so that many of them share a transaction.
func together(n int, call func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(i) })
	}
	wg.Wait()
}

// TestManyAtOnceShareTransactions is about what could go wrong when requests of
// different callers are done together, on both databases.
func TestManyAtOnceShareTransactions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, _ := open(t, db, place.Config{Auth: place.Open, QueueLimit: 20, MaxUnknown: 1 << 20})
		t.Run("a queue never holds more than its limit, and every loss is told", func(t *testing.T) { overflowTogether(t, p) })
		t.Run("each sender's messages stay in order", func(t *testing.T) { orderTogether(t, p) })
		t.Run("one key, one message", func(t *testing.T) { idempotentTogether(t, p) })
		t.Run("one refused request harms no other", func(t *testing.T) { refusedTogether(t, p) })
		t.Run("receivers get disjoint sets", func(t *testing.T) { receiveTogether(t, p) })
		t.Run("one id registered by many is one registration", func(t *testing.T) { enterTogether(t, p) })
	})
}

func overflowTogether(t *testing.T, p *place.Place) {
	var mu sync.Mutex
	dropped := map[string]bool{}
	together(90, func(i int) {
		blob := fmt.Sprint("m", i)
		out, err := p.Send(t.Context(), stranger, &wire.SendRequest{From: "ada", To: "full", Blob: []byte(blob), BlobHash: mmp.HashOf(blob).Bare(), MessageType: "test"})
		if err != nil {
			t.Error(err)
			return
		}
		if out.Dropped != nil {
			mu.Lock()
			defer mu.Unlock()
			if dropped[out.Dropped.RelayID] {
				t.Errorf("%s was dropped twice", out.Dropped.RelayID)
			}
			dropped[out.Dropped.RelayID] = true
		}
	})
	status, err := p.QueueStatus(t.Context(), stranger, "full")
	if err != nil || status.PendingCount != 20 || status.DroppedCount != 70 || len(dropped) != 70 {
		t.Errorf("%+v, %d told, %v", status, len(dropped), err)
	}
	audit, err := p.Audit(t.Context(), place.Visitor{Actor: identity.Hub()}, board.AuditQuery{Type: board.AuditRelay, Limit: 1000})
	count := map[string]int{}
	for _, e := range audit.Entries {
		count[e.Action]++
	}
	if err != nil || count["enqueue"] != 90 || count["dropped"] != 70 {
		t.Errorf("%v %v; want no error, count[\"enqueue\"] to be 90, count[\"dropped\"] to be 70", count, err)
	}
}

func orderTogether(t *testing.T, p *place.Place) {
	together(4, func(who int) {
		for i := range 5 {
			send(t, p, stranger, fmt.Sprint("sender", who), "order", fmt.Sprintf("%d %d", who, i))
		}
	})
	next := map[byte]byte{}
	for _, blob := range receive(t, p, stranger, wire.ReceiveQuery{AgentID: "order"}) {
		if blob[2] != '0'+next[blob[0]] {
			t.Errorf("%q came where %d was due", blob, next[blob[0]])
		}
		next[blob[0]]++
	}
	if len(next) != 4 || next['3'] != 5 {
		t.Errorf("%v; want len(next) to be 4, next['3'] to be 5", next)
	}
}

func idempotentTogether(t *testing.T, p *place.Place) {
	var mu sync.Mutex
	ids, first := map[string]int{}, 0
	together(20, func(int) {
		out, err := p.Send(t.Context(), stranger, &wire.SendRequest{From: "ada", To: "once", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "test", IdempotencyKey: "k"})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		ids[out.RelayID]++
		if !out.Duplicate {
			first++
		}
	})
	if len(ids) != 1 || first != 1 {
		t.Errorf("%v, %d of them new", ids, first)
	}
}

func refusedTogether(t *testing.T, p *place.Place) {
	prove(t, p, "proven")
	var mu sync.Mutex
	refused := 0
	together(20, func(i int) {
		from := "ada"
		if i%4 == 0 {
			from = "proven"
		}
		_, err := p.Send(t.Context(), stranger, &wire.SendRequest{From: from, To: fmt.Sprint("calm", i), Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "test"})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case from == "proven" && errors.Is(err, mmp.ErrAuthRequired):
			refused++
		case from == "proven" || err != nil:
			t.Errorf("%s: %v", from, err)
		}
	})
	if refused != 5 {
		t.Errorf("%d refused", refused)
	}
}

func receiveTogether(t *testing.T, p *place.Place) {
	for i := range 20 {
		send(t, p, stranger, "ada", "shared", fmt.Sprintf("%02d", i))
	}
	var mu sync.Mutex
	var got []string
	together(10, func(int) {
		blobs := receive(t, p, stranger, wire.ReceiveQuery{AgentID: "shared", Limit: 3})
		mu.Lock()
		defer mu.Unlock()
		if !slices.IsSorted(blobs) {
			t.Errorf("%v; want slices.IsSorted(blobs)", blobs)
		}
		got = append(got, blobs...)
	})
	slices.Sort(got)
	if len(got) != 20 || len(slices.Compact(got)) != 20 {
		t.Errorf("%v; want len(got) to be 20, len(slices.Compact(got)) to be 20", got)
	}
}

func enterTogether(t *testing.T, p *place.Place) {
	var mu sync.Mutex
	fresh := 0
	together(20, func(i int) {
		out, err := p.Register(t.Context(), stranger, &board.Registration{ID: "twin", Name: fmt.Sprint("n", i), Scope: "general"})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		if !out.Updated {
			fresh++
		}
	})
	if fresh != 1 {
		t.Errorf("%d say they were the first", fresh)
	}
	list, err := p.Agents(t.Context(), stranger, board.AgentsQuery{Search: "twin", IncludeSelf: true})
	if err != nil || list.Count != 1 {
		t.Errorf("%+v %v; want no error, list.Count to be 1", list, err)
	}
}

// TestABoundOnAQueueIsCountedBeforeAnythingIsRefused: a hub that is alone does not
// count a queue each time, and must still be exact when it seems full.
func TestABoundOnAQueueIsCountedBeforeAnythingIsRefused(t *testing.T) {
	p, clk := open(t, storetest.SQLite(t), place.Config{Auth: place.Strict, QueueLimit: 5})
	bob := prove(t, p, "bob")
	for range 4 {
		for i := range 5 {
			send(t, p, bob, "bob", "bob", fmt.Sprint(i))
		}
		_, err := p.Send(t.Context(), bob, &wire.SendRequest{From: "bob", To: "bob", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "test"})
		if full, _ := errors.AsType[mmp.Error](err); full.Code != mmp.ErrQueueFull.Code {
			t.Fatalf("the sixth: %v", err)
		}
		if got := receive(t, p, bob, wire.ReceiveQuery{AgentID: "bob", Limit: 100}); len(got) != 5 {
			t.Fatalf("%v; want len(got) to be 5", got)
		}
	}
	open, _ := open(t, storetest.SQLite(t), place.Config{Auth: place.Open, QueueLimit: 5, MaxUnknown: 1}, func(d *place.Deps) { d.Now = clk.now })
	for range 30 {
		send(t, open, stranger, "ada", "eve", "x")
		if got := receive(t, open, stranger, wire.ReceiveQuery{AgentID: "eve"}); len(got) != 1 {
			t.Fatalf("%v; want len(got) to be 1", got)
		}
	}
	// One unknown queue was allowed, however often it was emptied; a second is not.
	_, err := open.Send(t.Context(), stranger, &wire.SendRequest{From: "ada", To: "mallory", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "test"})
	if !errors.Is(err, mmp.ErrPlaceFull) {
		t.Errorf("%v; want mmp.ErrPlaceFull", err)
	}
}

// TestNoMoreAgentsThanAllowed holds also within a minute, before anything is counted.
func TestNoMoreAgentsThanAllowed(t *testing.T) {
	p, _ := open(t, storetest.SQLite(t), place.Config{Auth: place.Open, MaxAgents: 10})
	let := 0
	for i := range 15 {
		_, err := p.Register(t.Context(), stranger, &board.Registration{ID: fmt.Sprint("a", i), Name: "x", Scope: "general"})
		switch {
		case err == nil:
			let++
		case !errors.Is(err, mmp.ErrPlaceFull):
			t.Error(err)
		}
	}
	if let != 10 {
		t.Errorf("%d were let in", let)
	}
}

// TestWithSyncOSAMessageOutlivesTheHub: nothing is flushed, but what was answered
// is in the operating system's hands.
func TestWithSyncOSAMessageOutlivesTheHub(t *testing.T) {
	path := t.TempDir() + "/parley.db"
	p, _ := open(t, storetest.Open(t, path), place.Config{Auth: place.Open, Sync: place.SyncOS})
	id := send(t, p, stranger, "ada", "bob", "x")
	// Another process, while the first still has everything open.
	again, _ := open(t, storetest.Open(t, path), place.Config{Auth: place.Open})
	out, err := again.Peek(t.Context(), stranger, wire.ReceiveQuery{AgentID: "bob", Limit: 10})
	if err != nil || out.Count != 1 || out.Messages[0].ID != id {
		t.Errorf("%+v %v; want no error, out.Count to be 1, out.Messages[0].ID to be %v", out, err, id)
	}
}

// TestMessagesOfAnOlderDatabaseAreFoundByTheirIDs: their ids do not say their numbers.
func TestMessagesOfAnOlderDatabaseAreFoundByTheirIDs(t *testing.T) {
	db := storetest.SQLite(t)
	p, _ := open(t, db, place.Config{Auth: place.Open})
	who := prove(t, p, "ada")
	send(t, p, who, "ada", "bob", "old")
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE place_messages SET num = 7, id = 'relay_00000000000000ff'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p, _ = open(t, db, place.Config{Auth: place.Open})
	sent, err := p.Sent(t.Context(), who, wire.SentQuery{AgentID: "ada", RelayID: "relay_00000000000000ff", Limit: 10})
	if err != nil || sent.Count != 1 {
		t.Errorf("%+v %v; want no error, sent.Count to be 1", sent, err)
	}
	got, err := p.Receive(t.Context(), stranger, wire.ReceiveQuery{AgentID: "bob", Limit: 10, ManualAck: true, Lease: time.Minute})
	if err != nil || got.Count != 1 {
		t.Fatalf("%+v %v; want no error, got.Count to be 1", got, err)
	}
	ack, err := p.Ack(t.Context(), stranger, &wire.AckRequest{AgentID: "bob", IDs: []string{got.Messages[0].ID, "relay_" + strings.Repeat("0", 16), "x"}})
	if err != nil || len(ack.Acked) != 1 || len(ack.Unknown) != 2 {
		t.Errorf("%+v %v; want no error, len(ack.Acked) to be 1, len(ack.Unknown) to be 2", ack, err)
	}
}

// TestACallerWhoLeftHasNoEffect: one that waits for the next transaction may go.
func TestACallerWhoLeftHasNoEffect(t *testing.T) {
	p, _ := open(t, storetest.SQLite(t), place.Config{Auth: place.Open})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Send(ctx, stranger, &wire.SendRequest{From: "ada", To: "bob", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "test"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want %v", err, context.Canceled)
	}
	if got := receive(t, p, stranger, wire.ReceiveQuery{AgentID: "bob"}); len(got) != 0 {
		t.Errorf("%v; want len(got) to be 0", got)
	}
}
