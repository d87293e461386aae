package place_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/identity"
	"parley/internal/place"
	"parley/internal/store"
	"parley/internal/store/storetest"
	"parley/protocol/mmp"
	"parley/protocol/mmp/board"
	"parley/protocol/mmp/relay"
)

// stored counts what the database has of the relay.
func stored(t testing.TB, db *store.DB) (parcels, rows int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT (SELECT count(*) FROM place_parcels), (SELECT count(*) FROM place_messages)`).Scan(&parcels, &rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	return parcels, rows
}

// TestAnAcknowledgedMessageOutlivesTheHubBeforeTheDatabaseHasIt, whether the next
// hub is alone or among others.
func TestAnAcknowledgedMessageOutlivesTheHubBeforeTheDatabaseHasIt(t *testing.T) {
	for _, clustered := range []bool{false, true} {
		t.Run(fmt.Sprint("clustered ", clustered), func(t *testing.T) {
			db := storetest.SQLite(t)
			p, _ := open(t, db, place.Config{Auth: place.Open})
			for i := range 3 {
				send(t, p, stranger, "ada", "bob", fmt.Sprint(i))
			}
			receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob", Limit: 1})
			if parcels, rows := stored(t, db); parcels+rows > 0 {
				t.Fatalf("%d parcels and %d rows are in the database already: this tests nothing", parcels, rows)
			}
			p.Vanish()
			p, _ = open(t, db, place.Config{Auth: place.Open}, func(d *place.Deps) { d.Clustered = clustered })
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

// TestWhatLeftMemoryIsReadFromTheDatabase, by a receiver and by a look.
func TestWhatLeftMemoryIsReadFromTheDatabase(t *testing.T) {
	db := storetest.SQLite(t)
	p, _ := open(t, db, place.Config{Auth: place.Open})
	p.HoldNone()
	long := strings.Repeat("QUJD", 10_000)
	want := []string{"0", long, "2"}
	for _, to := range []string{"bob", "cal"} {
		for _, blob := range want {
			send(t, p, stranger, "ada", to, blob)
		}
	}
	if err := p.Bundle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if awake := p.Awake(); awake != 0 {
		t.Fatalf("%d bytes are in memory", awake)
	}
	if parcels, rows := stored(t, db); parcels == 0 || rows > 0 {
		t.Fatalf("%d parcels, %d rows", parcels, rows)
	}
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, want) {
		t.Errorf("received %d", len(got))
	}
	out, err := p.Peek(t.Context(), stranger, relay.ReceiveQuery{AgentID: "cal", Limit: 10})
	if err != nil || out.Count != 3 || out.Messages[1].Blob != long {
		t.Errorf("%d %v", out.Count, err)
	}
}

// TestAQueueIsQuickAgainWhenItsRowsAreGone: a look gives messages rows, and a lent one
// keeps its own.
func TestAQueueIsQuickAgainWhenItsRowsAreGone(t *testing.T) {
	p, clk := open(t, storetest.SQLite(t), place.Config{Auth: place.Open})
	send(t, p, stranger, "ada", "bob", "0")
	lent := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob", ManualAck: true})
	send(t, p, stranger, "ada", "bob", "1")
	for _, want := range []string{"1", ""} {
		if got := strings.Join(receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}), " "); got != want || !p.MayHaveRows("bob") {
			t.Fatalf("%q, rows %v", got, p.MayHaveRows("bob"))
		}
	}
	clk.pass(mmp.DefaultLease + time.Second)
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, lent) {
		t.Fatalf("%v, lent were %v", got, lent)
	}
	send(t, p, stranger, "ada", "bob", "2")
	for range 2 {
		receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"})
		send(t, p, stranger, "ada", "bob", "3")
	}
	if p.MayHaveRows("bob") {
		t.Error("the database is asked for rows that are gone")
	}
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, []string{"3"}) {
		t.Errorf("%v", got)
	}
}

// TestTheSenderLearnsTheFateOfWhatNeverHadARow, also after the end of the hub, and
// sending it again changes nothing.
func TestTheSenderLearnsTheFateOfWhatNeverHadARow(t *testing.T) {
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprint("hub ends ", ends), func(t *testing.T) {
			db := storetest.SQLite(t)
			p, _ := open(t, db, place.Config{})
			ada := prove(t, p, "ada")
			req := &relay.SendRequest{From: "ada", To: "bob", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "test", IdempotencyKey: "once"}
			first, err := p.Send(t.Context(), ada, req)
			if err != nil {
				t.Fatal(err)
			}
			if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, []string{"x"}) {
				t.Fatalf("%v", got)
			}
			if ends {
				p.Vanish()
				p, _ = open(t, db, place.Config{})
			}
			if again, err := p.Send(t.Context(), ada, req); err != nil || !again.Duplicate || again.RelayID != first.RelayID {
				t.Errorf("%+v %v", again, err)
			}
			out, err := p.Sent(t.Context(), ada, relay.SentQuery{AgentID: "ada", Limit: 10})
			if err != nil || out.Count != 1 || out.Messages[0].Status != relay.FateReceived || out.Messages[0].RelayID != first.RelayID {
				t.Errorf("%+v %v", out, err)
			}
			if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); len(got) != 0 {
				t.Errorf("it came again: %v", got)
			}
		})
	}
}

// TestAFullLogHasTheDatabaseStoreMessages: more is sent than the log takes while
// nobody empties it.
func TestAFullLogHasTheDatabaseStoreMessages(t *testing.T) {
	db := storetest.SQLite(t)
	p, _ := open(t, db, place.Config{Auth: place.Open})
	large := strings.Repeat("QUJD", 200_000)
	const many = 25 // the log has room for twenty
	for i := range many {
		send(t, p, stranger, "ada", "bob", fmt.Sprint(i, " ", large))
	}
	if parcels, _ := stored(t, db); parcels == 0 {
		t.Error("the log had room for everything: this tests nothing")
	}
	p.Vanish()
	p, _ = open(t, db, place.Config{Auth: place.Open})
	got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"})
	for i, blob := range got {
		if !strings.HasPrefix(blob, fmt.Sprint(i, " ")) {
			t.Errorf("message %d begins %.9s", i, blob)
		}
	}
	if len(got) != many {
		t.Errorf("%d messages", len(got))
	}
}

// TestAFullDiskRefusesSendsAndLetsMessagesGo: what is refused is not there later.
func TestAFullDiskRefusesSendsAndLetsMessagesGo(t *testing.T) {
	db := storetest.SQLite(t)
	p, _ := open(t, db, place.Config{Auth: place.Open})
	for i := range 3 {
		send(t, p, stranger, "ada", "bob", fmt.Sprint(i))
	}
	exec := func(query string) {
		if err := db.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.Exec(query); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Bundle(t.Context()); err != nil {
		t.Fatal(err)
	}
	send(t, p, stranger, "ada", "cal", "only in the log")
	p.FillDisk()
	exec(`CREATE TRIGGER full BEFORE INSERT ON place_parcels BEGIN SELECT RAISE(ABORT, 'full'); END`)
	req := &relay.SendRequest{From: "ada", To: "bob", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "test"}
	for i := range 2 {
		// The second time the database is known to fail.
		if err := p.Bundle(t.Context()); i > 0 && err == nil {
			t.Error("the database took what waits")
		}
		if _, err := p.Send(t.Context(), stranger, req); !errors.Is(err, mmp.ErrStorage) {
			t.Errorf("a send: %v", err)
		}
		if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob", Limit: 1}); !slices.Equal(got, []string{fmt.Sprint(i)}) {
			t.Errorf("%v", got)
		}
	}
	exec(`DROP TRIGGER full`)
	p.Vanish()
	p, _ = open(t, db, place.Config{Auth: place.Open})
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, []string{"2"}) {
		t.Errorf("%v", got)
	}
}

// TestALogThatFailsLosesAndDoublesNothing: the record on which it failed may be in it.
func TestALogThatFailsLosesAndDoublesNothing(t *testing.T) {
	db := storetest.SQLite(t)
	p, _ := open(t, db, place.Config{Auth: place.Open})
	send(t, p, stranger, "ada", "bob", "before")
	p.BreakLog(true)
	send(t, p, stranger, "ada", "bob", "amid")
	send(t, p, stranger, "ada", "bob", "after")
	p.Vanish()
	p, _ = open(t, db, place.Config{Auth: place.Open})
	if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); !slices.Equal(got, []string{"before", "amid", "after"}) {
		t.Errorf("%v", got)
	}
}

// troubled fails a test when something is logged.
type troubled struct{ t testing.TB }

func (w troubled) Write(line []byte) (int, error) {
	w.t.Errorf("%s", line)
	return len(line), nil
}

// TestManyAtOnceGetEachMessageOnce, while the database takes over, memory is short
// and rows are made.
func TestManyAtOnceGetEachMessageOnce(t *testing.T) {
	db := storetest.SQLite(t)
	p, _ := open(t, db, place.Config{Auth: place.Open, Sync: place.SyncOS}, func(d *place.Deps) {
		d.Log = slog.New(slog.NewTextHandler(troubled{t}, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	p.HoldNone()
	const pairs, each = 8, 60
	done := make(chan struct{})
	var beside, wg sync.WaitGroup
	beside.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			err := p.Bundle(t.Context())
			if i%3 == 0 {
				_, statusErr := p.QueueStatus(t.Context(), stranger, fmt.Sprint("r", i%pairs))
				err = errors.Join(err, statusErr)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for who := range pairs {
		me := fmt.Sprint("r", who)
		wg.Go(func() {
			for i := range each {
				send(t, p, stranger, "ada", me, fmt.Sprint(i))
			}
		})
		wg.Go(func() {
			var got []string
			for len(got) < each && !t.Failed() {
				out, err := p.Receive(t.Context(), stranger, relay.ReceiveQuery{AgentID: me, Limit: 7, Wait: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				for _, m := range out.Messages {
					got = append(got, m.Blob)
				}
			}
			for i, blob := range got {
				if blob != fmt.Sprint(i) {
					t.Errorf("%s: message %d is %q", me, i, blob)
				}
			}
		})
	}
	wg.Wait()
	close(done)
	beside.Wait()
}
