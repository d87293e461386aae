package place_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	faceplace "parley.internal/internal/face/place"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
)

func TestSendNamesWhatIsMissingInOrder(t *testing.T) {
	w := newWorld(t)
	body := m{}
	for _, field := range []struct{ name, value string }{
		{"from", "ada"}, {"to", "bob"}, {"encrypted_blob", "x"}, {"blob_hash", mmp.HashOf("x").Bare()},
	} {
		if r := w.want(w.post("/place/v1/relay/send", "", body), 400, ""); r.str("error") != field.name+" is required" {
			t.Errorf("without %s: %s", field.name, r.raw)
		}
		body[field.name] = field.value
	}
	w.want(w.post("/place/v1/relay/send", "", body), 201, "")
	for name, c := range map[string]struct{ blob, hash, want string }{
		"empty":      {"", mmp.HashOf("").Bare(), "Encrypted blob cannot be empty"},
		"large":      {strings.Repeat("a", 1<<20+1), mmp.HashOf("x").Bare(), "Message exceeds maximum size (1048576 bytes)"},
		"mismatch":   {"x", mmp.HashOf("y").Bare(), "blob_hash does not fit encrypted_blob"},
		"not a hash": {"x", "sha256:...", "blob_hash does not fit encrypted_blob"},
	} {
		if r := w.want(w.post("/place/v1/relay/send", "", m{"from": "ada", "to": "bob", "encrypted_blob": c.blob, "blob_hash": c.hash}), 400, ""); r.str("error") != c.want {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
	if r := w.want(w.get("/place/v1/relay/status?agent_id=bob", ""), 200, ""); r.num("pending_count") != 1 {
		t.Errorf("%s", r.raw)
	}
}

func TestPeekReceiveStatusInOrder(t *testing.T) {
	w := newWorld(t)
	for i := range 15 {
		w.send("ada", "bob", fmt.Sprint("m", i), "")
	}
	if r := w.want(w.get("/place/v1/relay/peek?agent_id=bob&limit=2", ""), 200, ""); r.num("total_pending") != 15 || r.body["more"] != true || cmp.Diff(blobs(r), []string{"m0", "m1"}) != "" {
		t.Errorf("%s", r.raw)
	}
	st := w.want(w.get("/place/v1/relay/status?agent_id=bob", ""), 200, "")
	if st.num("pending_count") != 15 || st.str("oldest_at") == "" || st.str("newest_at") == "" || st.num("limit") != 100 {
		t.Errorf("%s", st.raw)
	}
	if r := w.want(w.get("/place/v1/relay/status?agent_id=nobody", ""), 200, ""); r.num("pending_count") != 0 {
		t.Errorf("%s", r.raw)
	}
	first := w.receive("bob", "", "")
	if first.num("count") != 10 || first.body["more"] != true || blobs(first)[0] != "m0" || blobs(first)[9] != "m9" {
		t.Errorf("%s", first.raw)
	}
	if rest := w.receive("bob", "", "&limit=100"); cmp.Diff(blobs(rest), []string{"m10", "m11", "m12", "m13", "m14"}) != "" || rest.body["more"] != false {
		t.Errorf("%s", rest.raw)
	}
	if r := w.receive("bob", "", ""); r.num("count") != 0 {
		t.Errorf("%s", r.raw)
	}
	if r := w.receive("bob", "", "&limit=0"); r.num("count") != 0 {
		t.Errorf("%s", r.raw)
	}
	for _, bad := range []string{"&limit=-1", "&limit=x", "&wait=-1", "&ack=maybe", "&lease=1.5"} {
		w.want(w.get("/place/v1/relay/receive?agent_id=bob"+bad, ""), 400, "invalid_param")
	}
}

func TestBlobsComeBackByteForByte(t *testing.T) {
	w := newWorld(t)
	for name, blob := range map[string]string{
		"unicode": "grüße ✓ 日本 \u2028 <&>", "json": `{"a":[1,2,{"b":"c\n"}]}`, "200 kB": strings.Repeat("QUJD", 50_000),
		"the largest": strings.Repeat("a", 1<<20), "nul": "a\x00b", "one": "x",
	} {
		t.Run(name, func(t *testing.T) {
			e := envelope("ada", "bob", blob)
			e["blob_hash"] = strings.ToUpper(mmp.HashOf(blob).Bare())
			w.want(w.post("/place/v1/relay/send", "", e), 201, "")
			r := w.receive("bob", "", "")
			msg, _ := r.list("messages")[0].(map[string]any)
			if msg["encrypted_blob"] != blob || msg["blob_hash"] != e["blob_hash"] {
				t.Error("changed on the way")
			}
		})
	}
}

func TestExpiredMessagesAreNeitherDeliveredNorCountedAndAreAudited(t *testing.T) {
	w := newWorld(t)
	token := w.prove(keyNo(0), "ada")
	id := w.send("ada", "bob", "old", token)
	w.clock.pass(61 * time.Minute)
	token = w.prove(keyNo(0), "ada")
	w.send("ada", "bob", "new", token)
	if r := w.want(w.get("/place/v1/relay/status?agent_id=bob", ""), 200, ""); r.num("pending_count") != 1 {
		t.Errorf("%s", r.raw)
	}
	if got := blobs(w.receive("bob", "", "")); cmp.Diff(got, []string{"new"}) != "" {
		t.Errorf("%v", got)
	}
	if err := w.place.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.actions()["relay expired"]; n != 1 {
		t.Errorf("%d expired entries", n)
	}
	sent := w.want(w.get("/place/v1/relay/sent?relay_id="+id, token), 200, "")
	if msg, _ := sent.list("messages")[0].(map[string]any); msg["status"] != "expired" {
		t.Errorf("%s", sent.raw)
	}
}

func TestAFullQueueOfAProvenRecipientAnswers429AndStaysAsItIs(t *testing.T) {
	for _, auth := range []place.Auth{place.TOFU, place.Strict} {
		t.Run(string(auth), func(t *testing.T) {
			w := newWorld(t, policy(auth), func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.QueueLimit = 3 })
			ada, bob := w.prove(keyNo(0), "ada"), w.prove(keyNo(1), "bob")
			for i := range 3 {
				w.send("ada", "bob", fmt.Sprint("m", i), ada)
			}
			r := w.want(w.post("/place/v1/relay/send", ada, envelope("ada", "bob", "one too many")), 429, "queue_full")
			if r.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			if n := count(w, bob, "refused"); n != 1 {
				t.Errorf("%d refused entries", n)
			}
			if got := blobs(w.receive("bob", bob, "")); cmp.Diff(got, []string{"m0", "m1", "m2"}) != "" {
				t.Errorf("%v", got)
			}
			w.send("ada", "bob", "room again", ada)
		})
	}
}

// count counts relay entries of an action as an agent sees them.
func count(w *world, token, action string) (n int) {
	w.t.Helper()
	for _, e := range w.want(w.get("/place/v1/audit?type=relay", token), 200, "").list("entries") {
		if entry, _ := e.(map[string]any); entry["action"] == action {
			n++
		}
	}
	return n
}

func TestWhereTheOldestIsDroppedNothingIsSilent(t *testing.T) {
	w := newWorld(t, policy(place.TOFU), func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.QueueLimit = 2 })
	ada := w.prove(keyNo(0), "ada")
	lost := w.send("ada", "bob", "m0", ada)
	w.send("eve", "bob", "m1", "")
	r := w.want(w.post("/place/v1/relay/send", "", envelope("eve", "bob", "m2")), 201, "")
	if dropped, _ := r.body["dropped"].(map[string]any); dropped["relay_id"] != lost || dropped["reason"] != "queue_full" {
		t.Errorf("%s", r.raw)
	}
	if st := w.want(w.get("/place/v1/relay/status?agent_id=bob", ""), 200, ""); st.num("dropped_count") != 1 || st.num("pending_count") != 2 {
		t.Errorf("%s", st.raw)
	}
	sent := w.want(w.get("/place/v1/relay/sent?relay_id="+lost, ada), 200, "")
	if msg, _ := sent.list("messages")[0].(map[string]any); msg["status"] != "dropped" {
		t.Errorf("%s", sent.raw)
	}
	if n := w.actions()["relay dropped"]; n != 1 {
		t.Errorf("%d dropped entries", n)
	}
	queues, err := w.place.Queues(t.Context(), operator, 10)
	if err != nil || len(queues) != 1 || queues[0].Dropped != 1 {
		t.Errorf("%+v %v", queues, err)
	}
	if got := blobs(w.receive("bob", "", "")); cmp.Diff(got, []string{"m1", "m2"}) != "" {
		t.Errorf("%v", got)
	}
	// Leased ones are not dropped.
	w.send("eve", "cy", "a", "")
	w.send("eve", "cy", "b", "")
	w.receive("cy", "", "&ack=manual")
	w.want(w.post("/place/v1/relay/send", "", envelope("eve", "cy", "c")), 429, "queue_full")
}

// poll starts a long poll and waits until it is there.
func (w *world) poll(agent, token string, n int) chan reply {
	w.t.Helper()
	out := make(chan reply, 1)
	go func() {
		r, err := w.try(context.WithoutCancel(w.t.Context()), "GET", "/place/v1/relay/receive?wait=60&limit=1&agent_id="+agent, token, nil)
		if err != nil {
			w.t.Error(err)
		}
		out <- r
	}()
	w.until(func() bool { return w.place.Polls() >= n })
	return out
}

func (w *world) until(done func() bool) {
	w.t.Helper()
	for !done() {
		select {
		case <-time.After(time.Millisecond):
		case <-w.t.Context().Done():
			w.t.Fatal("the test ended first")
		}
	}
}

func TestALongPollAnswersOnArrival(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		waiting := w.poll("bob", "", 1)
		w.send("ada", "bob", "hello", "")
		if r := <-waiting; cmp.Diff(blobs(r), []string{"hello"}) != "" {
			t.Errorf("%s", r.raw)
		}
		w.send("ada", "bob", "there already", "")
		if got := blobs(w.receive("bob", "", "&wait=60")); len(got) != 1 {
			t.Errorf("%v", got)
		}
	})
}

func TestALongPollEndsEmptyAtItsTime(t *testing.T) {
	w := newWorld(t)
	if r := w.receive("bob", "", "&wait=1"); r.num("count") != 0 || r.body["more"] != false {
		t.Errorf("%s", r.raw)
	}
}

func TestAVanishedClientConsumesNothing(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := w.try(ctx, "GET", "/place/v1/relay/receive?wait=60&agent_id=bob", "", nil)
			gone <- err
		}()
		w.until(func() bool { return w.place.Polls() == 1 })
		cancel()
		if err := <-gone; err == nil {
			t.Error("the client got an answer after it left")
		}
		w.until(func() bool { return w.place.Polls() == 0 })
		w.send("ada", "bob", "still here", "")
		if got := blobs(w.receive("bob", "", "")); cmp.Diff(got, []string{"still here"}) != "" {
			t.Errorf("%v", got)
		}
	})
}

func TestNoWakeUpIsMissed(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		const n = 200
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range n {
				w.send("ada", "bob", fmt.Sprint(i), "")
			}
		})
		var got []string
		for len(got) < n {
			got = append(got, blobs(w.receive("bob", "", "&wait=60"))...)
		}
		wg.Wait()
		for i, blob := range got {
			if blob != fmt.Sprint(i) {
				t.Fatalf("message %d is %q", i, blob)
			}
		}
	})
}

func TestAnAgentHasFourPollsAtMost(t *testing.T) {
	bothWays(t, func(t *testing.T, w *world) {
		var polls []chan reply
		for i := range 4 {
			polls = append(polls, w.poll("bob", "", i+1))
		}
		w.want(w.get("/place/v1/relay/receive?wait=60&agent_id=bob", ""), 429, "too_many_polls")
		w.want(w.get("/place/v1/relay/receive?wait=1&agent_id=cy", ""), 200, "")
		for i := range 4 {
			w.send("ada", "bob", fmt.Sprint(i), "")
		}
		for _, p := range polls {
			<-p
		}
	})
}

func TestLeasesHideLapseInOrderAckAndRelease(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, w.send("ada", "bob", fmt.Sprint("m", i), ""))
	}
	leased := w.receive("bob", "", "&ack=manual&limit=2&lease=60")
	msg, _ := leased.list("messages")[0].(map[string]any)
	if cmp.Diff(blobs(leased), []string{"m0", "m1"}) != "" || msg["attempt"] != 1.0 || msg["leased_until"] == "" {
		t.Errorf("%s", leased.raw)
	}
	if st := w.want(w.get("/place/v1/relay/status?agent_id=bob", ""), 200, ""); st.num("leased_count") != 2 || st.num("pending_count") != 1 {
		t.Errorf("%s", st.raw)
	}
	if got := blobs(w.want(w.get("/place/v1/relay/peek?agent_id=bob", ""), 200, "")); cmp.Diff(got, []string{"m2"}) != "" {
		t.Errorf("leased ones are visible: %v", got)
	}
	w.clock.pass(61 * time.Second) // the lease lapses
	again := w.receive("bob", "", "&ack=manual&limit=10")
	msg, _ = again.list("messages")[0].(map[string]any)
	if cmp.Diff(blobs(again), []string{"m0", "m1", "m2"}) != "" || msg["attempt"] != 2.0 {
		t.Errorf("%s", again.raw)
	}
	ack := w.want(w.post("/place/v1/relay/ack", "", m{"agent_id": "bob", "ids": []string{ids[1], "relay_none"}, "release": []string{ids[0], ids[2]}}), 200, "")
	if cmp.Diff(ack.list("acked"), []any{ids[1]}) != "" || len(ack.list("released")) != 2 || cmp.Diff(ack.list("unknown"), []any{"relay_none"}) != "" {
		t.Errorf("%s", ack.raw)
	}
	if w.actions()["relay dequeue"] != 1 {
		t.Errorf("%v", w.actions())
	}
	if got := blobs(w.receive("bob", "", "")); cmp.Diff(got, []string{"m0", "m2"}) != "" {
		t.Errorf("%v", got)
	}
	// Another agent's message, and one that was never handed out, are unknown.
	other := w.send("ada", "cy", "x", "")
	if r := w.want(w.post("/place/v1/relay/ack", "", m{"agent_id": "bob", "ids": []string{other}}), 200, ""); len(r.list("acked")) != 0 {
		t.Errorf("%s", r.raw)
	}
	if r := w.want(w.post("/place/v1/relay/ack", "", m{"agent_id": "cy", "ids": []string{other}}), 200, ""); len(r.list("acked")) != 0 {
		t.Errorf("%s", r.raw)
	}
}

func TestASendIsIdempotent(t *testing.T) {
	w := newWorld(t)
	e := envelope("ada", "bob", "x")
	e["idempotency_key"] = "k1"
	first := w.want(w.post("/place/v1/relay/send", "", e), 201, "")
	again := w.want(w.post("/place/v1/relay/send", "", e), 200, "")
	if again.str("relay_id") != first.str("relay_id") || again.body["duplicate"] != true || again.str("expires_at") != first.str("expires_at") {
		t.Errorf("%s then %s", first.raw, again.raw)
	}
	w.receive("bob", "", "")
	w.want(w.post("/place/v1/relay/send", "", e), 200, "")
	other := envelope("ada", "bob", "y")
	other["idempotency_key"] = "k1"
	w.want(w.post("/place/v1/relay/send", "", other), 409, "idempotency_conflict")
	other["from"] = "eve"
	w.want(w.post("/place/v1/relay/send", "", other), 201, "")
	w.clock.pass(25 * time.Hour)
	other["from"] = "ada"
	w.want(w.post("/place/v1/relay/send", "", other), 201, "")
}

func TestARestartKeepsQueueAndLeases(t *testing.T) {
	db := storetest.SQLite(t)
	w := openWorld(t, db)
	for i := range 3 {
		w.send("ada", "bob", fmt.Sprint("m", i), "")
	}
	w.receive("bob", "", "&ack=manual&limit=1")
	again := openWorld(t, db)
	if got := blobs(again.receive("bob", "", "")); cmp.Diff(got, []string{"m1", "m2"}) != "" {
		t.Errorf("%v", got)
	}
	again.clock.pass(2 * time.Minute)
	if got := blobs(again.receive("bob", "", "")); cmp.Diff(got, []string{"m0"}) != "" {
		t.Errorf("%v", got)
	}
}

func TestSendersLearnTheFateOfTheirMessages(t *testing.T) {
	w := newWorld(t)
	ada := w.prove(keyNo(0), "ada")
	fate := func(id string) string {
		r := w.want(w.get("/place/v1/relay/sent?relay_id="+id, ada), 200, "")
		msg, _ := r.list("messages")[0].(map[string]any)
		s, _ := msg["status"].(string)
		return s
	}
	id := w.send("ada", "bob", "x", ada)
	if got := fate(id); got != "queued" {
		t.Error(got)
	}
	w.receive("bob", "", "&ack=manual")
	if got := fate(id); got != "leased" {
		t.Error(got)
	}
	w.want(w.post("/place/v1/relay/ack", "", m{"agent_id": "bob", "ids": []string{id}}), 200, "")
	if got := fate(id); got != "received" {
		t.Error(got)
	}
	w.want(w.get("/place/v1/relay/sent?agent_id=ada", ""), 401, "authentication_required")
	bob := w.prove(keyNo(1), "bob")
	if r := w.want(w.get("/place/v1/relay/sent?relay_id="+id, bob), 200, ""); r.num("count") != 0 {
		t.Errorf("another's message: %s", r.raw)
	}
}

func TestRelayStatsSumAllQueues(t *testing.T) {
	w := newWorld(t)
	w.send("ada", "bob", "12345", "")
	w.send("ada", "cy", "123", "")
	if r := w.want(w.get("/place/v1/relay/stats", ""), 200, ""); r.num("total_messages") != 2 || r.num("active_queues") != 2 || r.num("total_size_bytes") != 8 || r.num("max_size_bytes") != 5 {
		t.Errorf("%s", r.raw)
	}
}

func TestAPlaceThatIsFullTakesNoMore(t *testing.T) {
	w := newWorld(t, func(c *place.Config, _ *place.Deps, _ *faceplace.Deps) { c.MaxBytes, c.MaxUnknown = 100, 2 })
	w.want(w.post("/place/v1/relay/send", "", envelope("ada", "bob", strings.Repeat("x", 101))), 503, "place_full")
	w.send("ada", "one", "x", "")
	w.send("ada", "two", "x", "")
	w.want(w.post("/place/v1/relay/send", "", envelope("ada", "three", "x")), 503, "place_full")
	w.send("ada", "one", "x", "")
}

// What the place keeps of a message when it is over is who, when and how large: the sealed
// text itself is gone with it, however it ended.
func TestASealedTextIsGoneWithItsMessage(t *testing.T) {
	w := newWorld(t, policy(place.Open))
	kept := func() (n int) {
		t.Helper()
		err := w.db.Read(t.Context(), func(tx *store.Tx) error {
			return tx.QueryRow(`SELECT count(*) FROM place_messages WHERE length(blob) > 0`).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ada := w.prove(keyNo(0), "ada") // who may ask later what became of them
	for _, to := range []string{"received", "acknowledged", "expired"} {
		w.join(to)
		w.send("ada", to, "c2VhbGVk", ada)
	}
	if n := kept(); n != 3 {
		t.Fatalf("of three messages that wait the place has %d", n)
	}
	w.receive("received", "", "")
	got := w.receive("acknowledged", "", "&ack=manual")
	leased, _ := got.list("messages")[0].(map[string]any)
	w.want(w.post("/place/v1/relay/ack", "", m{"agent_id": "acknowledged", "ids": []any{leased["id"]}}), 200, "")
	if n := kept(); n != 1 {
		t.Errorf("of two messages that were taken %d are kept", n-1)
	}
	w.clock.pass(2 * time.Hour)
	if err := w.place.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := kept(); n != 0 {
		t.Errorf("%d expired messages are kept", n)
	}
}
