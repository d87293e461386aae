package relaytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	wire "parley.internal/protocol/mmp/relay"
)

// Contract is what holds on a database. Every story has queues of its own.
func Contract(t *testing.T, db *store.DB) {
	stories := []struct {
		name string
		tell func(t *testing.T, h *House)
	}{
		{"messages come in the order in which they were sent, and once", inOrder},
		{"what is lent is hidden, comes back in its place when the lease lapses, and is gone when acknowledged", lent},
		{"what was sent is there after the hub ended without a word, lent or not", outlives},
		{"one key, one message, also when its first answer was lost", oneKey},
		{"what has expired is neither handed out nor counted, and told once", expires},
		{"a full queue drops the oldest of whoever has most, and says so", drops},
		{"a full queue that refuses lets those in who have little there", refuses},
		{"a sender learns what became of its messages", fates},
		{"a refused write leaves no trace, and the next one works", refusedWrite},
		{"one refused request harms no other of its turn", oneRefused},
		{"receivers at the same time get different messages", disjoint},
		{"messages for another place wait apart, and end with its peering", outgoing},
		{"sums and lists agree with what was sent", sums},
	}
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { s.tell(t, Open(t, db, 10)) })
	}
}

func inOrder(t *testing.T, h *House) {
	var want []string
	for range 5 {
		want = append(want, h.Mail(t, "ada", "order").ID)
	}
	first := h.Fetch(t, "order", 3, 0)
	if diff := cmp.Diff(want[:3], IDs(first.Took)); diff != "" || !first.More {
		t.Errorf("the first three, and more behind them: more is %v, and\n%s", first.More, diff)
	}
	rest := h.Fetch(t, "order", 10, 0)
	if diff := cmp.Diff(want[3:], IDs(rest.Took)); diff != "" || rest.More {
		t.Errorf("the rest, and nothing behind it: more is %v, and\n%s", rest.More, diff)
	}
	if again := h.Fetch(t, "order", 10, 0); len(again.Took) > 0 {
		t.Errorf("%v were handed out twice", IDs(again.Took))
	}
	if got := string(first.Took[0].Blob); !strings.HasPrefix(got, "b") {
		t.Errorf("the blob is %q, not what was sent", got)
	}
}

func lent(t *testing.T, h *House) {
	a, b, c := h.Mail(t, "ada", "lent").ID, h.Mail(t, "ada", "lent").ID, h.Mail(t, "ada", "lent").ID
	took := h.Fetch(t, "lent", 2, time.Minute).Took
	if diff := cmp.Diff([]string{a, b}, IDs(took)); diff != "" || took[0].Attempt != 1 {
		t.Fatalf("two are lent for the first time, attempt %d:\n%s", took[0].Attempt, diff)
	}
	if s := h.state(t, "lent"); s.Pending != 1 || s.Leased != 2 {
		t.Errorf("one waits and two are lent, the status says %d and %d", s.Pending, s.Leased)
	}
	if got := h.Settled(t, "lent", []string{a, a, c, "nonsense", "a\x00b"}, nil); !slices.Equal(got.Acked, []string{a}) || len(got.Unknown) != 4 {
		t.Errorf("only the first is acknowledged, once: %v, unknown %q", got.Acked, got.Unknown)
	}
	if got := h.Settled(t, "elsewhere", []string{b}, nil); len(got.Acked) > 0 {
		t.Error("somebody acknowledged what is in another's queue")
	}
	h.Pass(2 * time.Minute)
	again := h.Fetch(t, "lent", 10, time.Minute).Took
	if diff := cmp.Diff([]string{b, c}, IDs(again)); diff != "" || again[0].Attempt != 2 {
		t.Errorf("the lease has lapsed and the second is first again, attempt %d:\n%s", again[0].Attempt, diff)
	}
	h.Settled(t, "lent", nil, []string{c})
	if got := IDs(h.Fetch(t, "lent", 10, 0).Took); !slices.Equal(got, []string{c}) {
		t.Errorf("the one that was given back is there: %v", got)
	}
}

func outlives(t *testing.T, h *House) {
	a, b := h.Mail(t, "ada", "outlives").ID, h.Mail(t, "ada", "outlives").ID
	h.Fetch(t, "outlives", 1, time.Minute)
	h.Reopen(t)
	c := h.Mail(t, "ada", "outlives").ID
	if got := IDs(h.Fetch(t, "outlives", 10, 0).Took); !slices.Equal(got, []string{b, c}) {
		t.Errorf("after the restart the second and the third are there: %v", got)
	}
	h.Reopen(t)
	if got := h.Settled(t, "outlives", []string{a}, nil); !slices.Equal(got.Acked, []string{a}) {
		t.Errorf("what was lent before the restart can be acknowledged after it: %v", got.Unknown)
	}
	h.Reopen(t)
	h.Pass(2 * time.Minute)
	if got := h.Fetch(t, "outlives", 10, 0).Took; len(got) > 0 {
		t.Errorf("%v came again", IDs(got))
	}
}

func oneKey(t *testing.T, h *House) {
	s := h.Letter("ada", "key")
	s.Message.Key = "once"
	if err := h.Send(t.Context(), s); err != nil || s.First != nil {
		t.Fatalf("the first of its key is new: %v %v", s.First, err)
	}
	for _, gone := range []bool{false, true} {
		if gone {
			h.Fetch(t, "key", 1, 0)
			h.Reopen(t)
		}
		again := &relay.Sending{Message: &relay.Message{Sender: "ada", Recipient: "key", Hash: s.Message.Hash, Key: "once", Blob: s.Message.Blob, Created: h.Now(), Expires: h.Now().Add(TTL)}}
		if err := h.Send(t.Context(), again); err != nil || again.First == nil || again.First.ID != s.Message.ID {
			t.Errorf("received %v: the key names the first message, got %+v %v", gone, again.First, err)
		}
	}
	other := h.Letter("ada", "key")
	other.Message.Key = "once"
	if err := h.Send(t.Context(), other); !errors.Is(err, mmp.ErrIdempotency) {
		t.Errorf("the same key for something else is a conflict: %v", err)
	}
	h.Pass(relay.KeepFates + time.Minute)
	late := h.Letter("ada", "key")
	late.Message.Key = "once"
	if err := h.Send(t.Context(), late); err != nil || late.First != nil {
		t.Errorf("after a day the key is free: %v %v", late.First, err)
	}
}

func expires(t *testing.T, h *House) {
	h.Mail(t, "eve", "expires")
	h.Fetch(t, "expires", 1, time.Minute)
	h.Mail(t, "eve", "expires")
	h.Pass(TTL + time.Minute)
	if got := h.Fetch(t, "expires", 10, 0).Took; len(got) > 0 {
		t.Errorf("%v has expired and was handed out", IDs(got))
	}
	if s := h.state(t, "expires"); s.Pending+s.Leased > 0 {
		t.Errorf("the status counts %d and %d that have expired", s.Pending, s.Leased)
	}
	for range 2 {
		if _, err := h.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.Noted(t, "eve"); got[relay.Expiry] != 2 {
		t.Errorf("two expired, the audit says %v", got)
	}
}

func drops(t *testing.T, h *House) {
	quiet := h.Mail(t, "quiet", "full").ID
	var loud []string
	for range h.Limit - 1 {
		loud = append(loud, h.Mail(t, "loud", "full").ID)
	}
	h.Fetch(t, "full", 2, time.Minute) // what is lent stays
	for i, from := range []string{"quiet", "loud"} {
		s := h.Letter(from, "full")
		if err := h.Send(t.Context(), s); err != nil || s.Dropped == nil || s.Dropped.ID != loud[i+1] {
			t.Errorf("the %s one's letter costs the loud one its oldest that is not lent: %+v %v", from, s.Dropped, err)
		}
	}
	if s := h.state(t, "full"); s.Pending+s.Leased != h.Limit || s.Dropped != 2 {
		t.Errorf("the queue is as full as it may be and two were dropped: %+v", s)
	}
	if got := h.Noted(t, "loud"); got[relay.Drop] != 2 {
		t.Errorf("the audit says %v of two drops", got)
	}
	if got := h.Settled(t, "full", []string{quiet}, nil); len(got.Acked) != 1 {
		t.Errorf("what was lent is still there: %v", got.Unknown)
	}
}

func refuses(t *testing.T, h *House) {
	h.Closed = true
	for range h.Limit {
		h.Mail(t, "greedy", "closed")
	}
	s := h.Letter("greedy", "closed")
	if err := h.Send(t.Context(), s); !errors.Is(err, mmp.ErrQueueFull) {
		full, _ := errors.AsType[mmp.Error](err)
		if full.Code != mmp.ErrQueueFull.Code {
			t.Errorf("whoever filled the queue is refused: %v", err)
		}
	}
	for i := range 2 * h.Limit {
		err := h.Send(t.Context(), h.Letter(fmt.Sprint("modest", i), "closed"))
		if fits := i < h.Limit; (err == nil) != fits {
			t.Fatalf("%d others were let in, one each until there are twice as many as the limit: %v", i, err)
		}
	}
	if got := h.Noted(t, "greedy"); got[relay.Refusal] != 1 {
		t.Errorf("the refusal is told: %v", got)
	}
}

func fates(t *testing.T, h *House) {
	var ids []string
	for range 3 {
		s := h.Letter("asks", "fates")
		s.Message.Tracked = true
		if err := h.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.Message.ID)
	}
	h.Fetch(t, "fates", 1, 0)
	h.Fetch(t, "fates", 1, time.Minute)
	h.Reopen(t)
	h.read(t, func(tx *store.Tx) error {
		found, err := h.Sent(tx, "asks", "", 10)
		var got []wire.Fate
		for _, m := range found {
			got = append(got, m.Fate(h.Now()))
		}
		if want := []wire.Fate{wire.FateQueued, wire.FateLeased, wire.FateReceived}; !slices.Equal(got, want) {
			t.Errorf("newest first the fates are %v, want %v", got, want)
		}
		one, oneErr := h.Sent(tx, "asks", ids[0], 10)
		if len(one) != 1 || one[0].ID != ids[0] {
			t.Errorf("one is found by its id: %v", IDs(one))
		}
		none, noneErr := h.Sent(tx, "other", ids[0], 10)
		if len(none) > 0 {
			t.Error("a stranger learns the fate of another's message")
		}
		return errors.Join(err, oneErr, noneErr)
	})
}

func refusedWrite(t *testing.T, h *House) {
	kept := h.Mail(t, "ada", "refused").ID
	for _, table := range []string{"place_messages", "place_audit"} {
		mend := h.Break(t, table)
		if err := h.Send(t.Context(), h.Letter("ada", "refused")); err == nil {
			t.Errorf("%s refuses, and the letter was taken", table)
		}
		err := h.Receive(t.Context(), &relay.Receiving{Queue: "refused", Limit: 1})
		if refusesTakes := table == "place_audit"; (err != nil) != refusesTakes {
			t.Errorf("%s refuses to take anything in, and a receiver heard %v", table, err)
		}
		mend()
		if table == "place_messages" {
			kept = h.Mail(t, "ada", "refused").ID
		}
	}
	if got := IDs(h.Fetch(t, "refused", 10, 0).Took); !slices.Equal(got, []string{kept}) {
		t.Errorf("only what was acknowledged and not handed out is there: %v", got)
	}
}

func oneRefused(t *testing.T, h *House) {
	h.Turned = "turned"
	var wg sync.WaitGroup
	letters := make([]*relay.Sending, 40)
	for i := range letters {
		letters[i] = h.Letter([]string{"welcome", "turned"}[i%2], fmt.Sprint("calm", i))
	}
	for i, s := range letters {
		wg.Go(func() {
			if err := h.Send(t.Context(), s); (err != nil) != (i%2 == 1) {
				t.Errorf("%s: %v", s.Message.Sender, err)
			}
		})
	}
	wg.Wait()
}

func disjoint(t *testing.T, h *House) {
	h.Limit = 1000
	h.Reopen(t)
	var want []string
	for range 40 {
		want = append(want, h.Mail(t, "ada", "shared").ID)
	}
	var mu sync.Mutex
	var got []string
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			q := &relay.Receiving{Queue: "shared", Limit: 3, Lease: time.Duration(i%2) * time.Minute}
			if err := h.Receive(t.Context(), q); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if ids := IDs(q.Took); slices.IsSorted(ids) {
				got = append(got, ids...)
			} else {
				t.Errorf("%v are not in order", ids)
			}
		})
	}
	wg.Wait()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each message goes to one receiver:\n%s", diff)
	}
}

func outgoing(t *testing.T, h *House) {
	var all []*relay.Message
	for range 3 {
		s := h.Letter("ada", "bob@there")
		s.Message.Peer, s.Message.Next, s.Message.Tracked = "there", s.Message.Created, true
		if err := h.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s.Message)
	}
	due, err := h.Due(t.Context(), "there", 10)
	if err != nil || !slices.Equal(IDs(due), IDs(all)) {
		t.Fatalf("three are due, in order: %v %v", IDs(due), err)
	}
	if err := errors.Join(h.Forwarded(t.Context(), due[0], ""), h.Postpone(t.Context(), due[1], h.Now().Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if due, err = h.Due(t.Context(), "there", 10); err != nil || len(due) != 1 {
		t.Errorf("one was forwarded and one waits for its next try: %v %v", IDs(due), err)
	}
	if err := h.RefuseAll(t.Context(), "there", "peer_removed", func(*store.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	h.Reopen(t)
	if s := h.state(t, "bob@there"); s.Pending+s.Leased > 0 {
		t.Errorf("nothing waits after the end of the peering: %+v", s)
	}
	if got := h.Noted(t, "ada"); got[relay.Forwarder] != 1 || got[relay.Refusal] != 2 {
		t.Errorf("the audit says %v of one forwarded and two refused", got)
	}
}

func sums(t *testing.T, h *House) {
	var before, after relay.Sum
	ask := func(into *relay.Sum) {
		h.read(t, func(tx *store.Tx) (err error) {
			*into, err = h.Sum(tx)
			return err
		})
	}
	ask(&before)
	for i := range 6 {
		h.Mail(t, "ada", fmt.Sprint("sum", i%2))
	}
	h.Fetch(t, "sum0", 1, time.Minute)
	h.Fetch(t, "sum1", 1, 0)
	ask(&after)
	if after.Messages-before.Messages != 5 || after.Queues-before.Queues != 2 {
		t.Errorf("five more wait in two more queues: %+v, before %+v", after, before)
	}
	h.read(t, func(tx *store.Tx) error {
		found, err := h.Fullest(tx, 1000, func(string) bool { return true })
		at := slices.IndexFunc(found, func(s relay.Status) bool { return s.Queue == "sum0" })
		if at < 0 || found[at].Pending != 2 || found[at].Leased != 1 || found[at].Oldest.IsZero() || found[at].Newest.IsZero() {
			t.Errorf("the list knows of two that wait and one that is lent: %+v", found)
		}
		names, namesErr := h.Queues(tx)
		if !slices.Contains(names, "sum1") || slices.Contains(names, "bob@there") {
			t.Errorf("the queues of agents here are %v", names)
		}
		return errors.Join(err, namesErr)
	})
}

// Break has the database refuse new rows of a table until it is mended.
func (h *House) Break(t testing.TB, table string) (mend func()) {
	t.Helper()
	how, undo := `ALTER TABLE `+table+` ADD CONSTRAINT broken CHECK (false) NOT VALID`, `ALTER TABLE `+table+` DROP CONSTRAINT broken`
	if h.DB.Dialect() == store.SQLite {
		how, undo = `CREATE TRIGGER broken BEFORE INSERT ON `+table+` BEGIN SELECT RAISE(ABORT, 'broken'); END`, `DROP TRIGGER broken`
	}
	exec := func(query string) {
		if err := h.DB.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.Exec(query); return err }); err != nil {
			t.Fatal(err)
		}
	}
	exec(how)
	return func() { exec(undo) }
}
