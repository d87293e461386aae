package place_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
)

// TestTheWholeRelayOnBothDatabases walks every statement of the relay.
func TestTheWholeRelayOnBothDatabases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, clk := open(t, db, place.Config{Auth: place.TOFU, QueueLimit: 5})
		ada := prove(t, p, "ada")
		for i := range 5 {
			send(t, p, ada, "ada", "bob", fmt.Sprint("m", i))
		}
		// bob never proved anything: the oldest makes room, loudly.
		out, err := p.Send(t.Context(), ada, &relay.SendRequest{From: "ada", To: "bob", Blob: []byte("m5\x00"), BlobHash: mmp.HashOf("m5\x00").Bare(), MessageType: "t", IdempotencyKey: "k"})
		if err != nil || out.Dropped == nil {
			t.Fatalf("%+v %v; want no error, out.Dropped not to be nil", out, err)
		}
		if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob", ManualAck: true, Limit: 2}); cmp.Diff(got, []string{"m1", "m2"}) != "" {
			t.Errorf("%v; want cmp.Diff(got, []string{\"m1\", \"m2\"}) to be \"\"", got)
		}
		peek, err := p.Peek(t.Context(), stranger, relay.ReceiveQuery{AgentID: "bob", Limit: 10})
		if err != nil || peek.TotalPending != 3 {
			t.Errorf("%+v %v; want no error, peek.TotalPending to be 3", peek, err)
		}
		st, err := p.QueueStatus(t.Context(), stranger, "bob")
		if err != nil || st.PendingCount != 3 || st.LeasedCount != 2 || st.DroppedCount != 1 || st.OldestAt.IsZero() {
			t.Errorf("%+v %v; want no error, st.PendingCount to be 3, st.LeasedCount to be 2, st.DroppedCount to be 1, not st.OldestAt.IsZero()", st, err)
		}
		clk.pass(2 * time.Minute)
		if got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"}); cmp.Diff(got, []string{"m1", "m2", "m3", "m4", "m5\x00"}) != "" {
			t.Errorf("%v; want cmp.Diff(got, []string{\"m1\", \"m2\", \"m3\", \"m4\", \"m5\\x00\"}) to be \"\"", got)
		}
		dup, err := p.Send(t.Context(), ada, &relay.SendRequest{From: "ada", To: "bob", Blob: []byte("m5\x00"), BlobHash: mmp.HashOf("m5\x00").Bare(), IdempotencyKey: "k"})
		if err != nil || !dup.Duplicate || dup.RelayID != out.RelayID {
			t.Errorf("%+v %v; want no error, dup.Duplicate, dup.RelayID to be %v", dup, err, out.RelayID)
		}
		sent, err := p.Sent(t.Context(), ada, relay.SentQuery{AgentID: "ada", Limit: 10})
		if err != nil || sent.Count != 6 || sent.Messages[0].Status != relay.FateReceived || sent.Messages[5].Status != relay.FateDropped {
			t.Errorf("%+v %v; want no error, sent.Count to be 6, sent.Messages[0].Status to be %v, sent.Messages[5].Status to be %v", sent, err, relay.FateReceived, relay.FateDropped)
		}
		expiring := send(t, p, ada, "ada", "cy", "late")
		clk.pass(2 * time.Hour)
		if err := p.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err := p.Sent(t.Context(), ada, relay.SentQuery{AgentID: "ada", RelayID: expiring, Limit: 1}); err != nil || s.Messages[0].Status != relay.FateExpired {
			t.Errorf("%+v %v; want no error, s.Messages[0].Status to be %v", s, err, relay.FateExpired)
		}
		stats, err := p.AuditStats(t.Context(), place.Visitor{Actor: identity.Hub()}, 24)
		if err != nil || stats.Summary.TotalRelays != 12 || stats.Summary.TotalDropped != 1 || stats.Summary.TotalExpired != 1 || stats.Summary.TotalKeyRegistrations != 1 {
			t.Errorf("%+v %v", stats.Summary, err)
		}
		edges, err := p.Graph(t.Context(), operator, 10)
		if err != nil || len(edges) != 2 || edges[1].Messages != 6 {
			t.Errorf("%+v %v; want no error, len(edges) to be 2, edges[1].Messages to be 6", edges, err)
		}
		if pins, err := p.Pins(t.Context(), operator, 10); err != nil || len(pins) != 1 || pins[0].Proof != "challenge" {
			t.Errorf("%+v %v; want no error, len(pins) to be 1, pins[0].Proof to be \"challenge\"", pins, err)
		}
		clk.pass(48 * time.Hour)
		if err := p.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBoardShelfAndKeysOnBothDatabases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, _ := open(t, db, place.Config{Auth: place.Open})
		ada := prove(t, p, "ada")
		posted, err := p.Post(t.Context(), ada, &board.PostRequestBody{AgentID: "ada", Type: board.PostOffer, SkillName: "Tea", SkillFormat: "markdown", Tags: []string{"drink"}, TTL: time.Hour, Metadata: mmp.Raw(`{"a":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Deposit(t.Context(), ada, &board.DepositRequest{SkillID: "tea", Name: "Tea", Format: "markdown", Content: "# Tea\n"}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.PublishNeeds(t.Context(), ada, &board.NeedsRequest{AgentID: "ada", Needs: []board.Need{{Name: "milk"}}}); err != nil {
			t.Fatal(err)
		}
		browse, err := p.Browse(t.Context(), stranger, board.BrowseQuery{Limit: 50})
		if err != nil || browse.Count != 1 || browse.TotalAvailable != 4 {
			t.Errorf("%+v %v; want no error, browse.Count to be 1, browse.TotalAvailable to be 4", browse, err)
		}
		prof, err := p.Profile(t.Context(), stranger, "ada")
		if err != nil || prof.DepositCount != 1 || len(prof.Needs) != 1 || len(prof.Postings) != 1 {
			t.Errorf("%+v %v; want no error, prof.DepositCount to be 1, len(prof.Needs) to be 1, len(prof.Postings) to be 1", prof, err)
		}
		if _, err := p.Attest(t.Context(), ada, &board.AttestRequest{SkillID: "tea", Owner: "ada", Claim: "mine"}); err != nil {
			t.Error(err)
		}
		if _, err := p.Preview(t.Context(), stranger, "tea", board.PreviewQuery{Lines: 1}); err != nil {
			t.Error(err)
		}
		if _, err := p.RemovePosting(t.Context(), place.Visitor{Actor: identity.Hub()}, posted.PostingID, ""); err != nil {
			t.Errorf("the operator: %v", err)
		}
		if _, err := p.Trust(t.Context(), operator, "ada", testKey().Public().KeyID()); err != nil {
			t.Fatal(err)
		}
		if a, err := p.Agent(t.Context(), stranger, "ada"); err != nil || a.Trust == nil || *a.Trust != "L0" {
			t.Errorf("%+v %v; want no error, a.Trust not to be nil, *a.Trust to be \"L0\"", a, err)
		}
		if _, err := p.Trust(t.Context(), operator, "ada", mmp.HashOf("another").Prefixed()); !errors.Is(err, mmp.ErrKeyPinned) {
			t.Errorf("a key nobody looked at was trusted: %v", err)
		}
		if err := p.Untrust(t.Context(), operator, testKey().Public().KeyID()); err != nil {
			t.Error(err)
		}
		if _, err := p.Stats(t.Context(), stranger); err != nil {
			t.Error(err)
		}
		if _, err := p.Unregister(t.Context(), ada, "ada"); err != nil {
			t.Error(err)
		}
		for _, auditType := range []string{"", "relay", "registration", "deposit", "no such type", "nul\x00"} {
			if _, err := p.Audit(t.Context(), stranger, board.AuditQuery{Limit: 10, Type: auditType, AgentID: "ada"}); err != nil {
				t.Errorf("%q: %v; want no error", auditType, err)
			}
		}
	})
}

func TestTextsNoDatabaseKeepsAlikeAreRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, _ := open(t, db, place.Config{Auth: place.Open})
		if _, err := p.Register(t.Context(), stranger, &board.Registration{ID: "a", Name: "nul\x00"}); !errors.Is(err, mmp.InvalidField("name")) {
			t.Errorf("%v; want mmp.InvalidField(\"name\")", err)
		}
		if _, err := p.Send(t.Context(), stranger, &relay.SendRequest{From: "a", To: "b", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare(), MessageType: "\x00"}); !errors.Is(err, mmp.InvalidField("message_type")) {
			t.Errorf("%v; want mmp.InvalidField(\"message_type\")", err)
		}
		if _, err := p.Post(t.Context(), stranger, &board.PostRequestBody{AgentID: "a", Type: board.PostOffer, SkillName: "\x00"}); !errors.Is(err, mmp.InvalidField("skill_name")) {
			t.Errorf("%v; want mmp.InvalidField(\"skill_name\")", err)
		}
		if _, err := p.Posting(t.Context(), stranger, "\x00"); !errors.Is(err, mmp.ErrPostingNotFound) {
			t.Errorf("%v; want mmp.ErrPostingNotFound", err)
		}
		if out, err := p.Ack(t.Context(), stranger, &relay.AckRequest{AgentID: "a", IDs: []string{"\x00"}}); err != nil || len(out.Unknown) != 1 {
			t.Errorf("%+v %v; want no error, len(out.Unknown) to be 1", out, err)
		}
	})
}

func TestSumsStayRightWhenTheyAreRolledUp(t *testing.T) {
	p, clk := open(t, storetest.SQLite(t), place.Config{Auth: place.Open})
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var before place.Edge
	for round := range 3 {
		for range 4 {
			send(t, p, stranger, "ada", "bob", "12345")
		}
		receive(t, p, stranger, relay.ReceiveQuery{AgentID: "bob"})
		clk.pass(30 * time.Minute)
		if err := p.RollUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		stats, err := p.AuditStats(t.Context(), place.Visitor{Actor: identity.Hub()}, 5)
		if err != nil || stats.Summary.TotalRelays != int64(8*(round+1)) || stats.Summary.TotalBytesRelayed != int64(40*(round+1)) {
			t.Errorf("round %d: %+v %v", round, stats.Summary, err)
		}
		total := int64(0)
		for _, h := range stats.Hourly {
			total += h.RelayCount
			if h.RelayCount > 0 && h.UniqueAgents != 2 {
				t.Errorf("%+v", h)
			}
		}
		if total != stats.Summary.TotalRelays {
			t.Errorf("hours say %d, the summary %d", total, stats.Summary.TotalRelays)
		}
		edges, err := p.Graph(t.Context(), operator, 5)
		if err != nil || len(edges) != 1 || edges[0].Messages <= before.Messages || edges[0].Bytes != 5*edges[0].Messages {
			t.Errorf("%+v %v", edges, err)
			continue
		}
		before = edges[0]
	}
}

// TestNoSequenceOfOperationsLosesDuplicatesOrReordersMessages holds the relay
// against a simple list.
func TestNoSequenceOfOperationsLosesDuplicatesOrReordersMessages(t *testing.T) {
	db := storetest.SQLite(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		to := fmt.Sprint("bob", run)
		p, _ := open(t, db, place.Config{Auth: place.Open, QueueLimit: 1000})
		var queue, leased []string
		next := 0
		ids := map[string]string{}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"send", "receive", "lease", "ack", "release"}).Draw(rt, "op") {
			case "send":
				blob := fmt.Sprint(run, "-", next)
				next++
				ids[blob] = send(t, p, stranger, "ada", to, blob)
				queue = append(queue, blob)
			case "receive":
				limit := rapid.IntRange(1, 3).Draw(rt, "limit")
				got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: to, Limit: limit})
				want := queue[:min(limit, len(queue))]
				if !slices.Equal(got, want) {
					rt.Fatalf("received %v, want %v", got, want)
				}
				queue = queue[len(want):]
			case "lease":
				got := receive(t, p, stranger, relay.ReceiveQuery{AgentID: to, Limit: 2, ManualAck: true})
				want := slices.Clone(queue[:min(2, len(queue))])
				if !slices.Equal(got, want) {
					rt.Fatalf("leased %v, want %v", got, want)
				}
				queue, leased = queue[len(want):], append(leased, want...)
			case "ack", "release":
				if len(leased) == 0 {
					continue
				}
				one := rapid.SampledFrom(leased).Draw(rt, "one")
				leased = slices.DeleteFunc(leased, func(s string) bool { return s == one })
				req := &relay.AckRequest{AgentID: to, IDs: []string{ids[one]}}
				if rapid.Bool().Draw(rt, "back") {
					req.IDs, req.Release = nil, req.IDs
					queue = append(queue, one)
					slices.SortFunc(queue, byNumber)
				}
				if out, err := p.Ack(t.Context(), stranger, req); err != nil || len(out.Unknown) != 0 {
					rt.Fatalf("%+v %v", out, err)
				}
			}
		}
	})
}

func byNumber(a, b string) int {
	var x, y int
	_, _ = fmt.Sscanf(a[strings.IndexByte(a, '-')+1:], "%d", &x)
	_, _ = fmt.Sscanf(b[strings.IndexByte(b, '-')+1:], "%d", &y)
	return x - y
}

func TestTheOperatorSeesMetadataAndActsForNobody(t *testing.T) {
	p, _ := open(t, storetest.SQLite(t), place.Config{Auth: place.Strict})
	ada := prove(t, p, "ada")
	send(t, p, ada, "ada", "ada", "to myself")
	who := place.Visitor{Actor: identity.Hub()}
	if st, err := p.QueueStatus(t.Context(), who, "ada"); err != nil || st.PendingCount != 1 {
		t.Errorf("%+v %v; want no error, st.PendingCount to be 1", st, err)
	}
	if a, err := p.Audit(t.Context(), who, board.AuditQuery{Limit: 10}); err != nil || a.Count == 0 {
		t.Errorf("%+v %v; want no error, a.Count not to be 0", a, err)
	}
	for name, call := range map[string]func() error{
		"receive": func() error {
			_, err := p.Receive(t.Context(), who, relay.ReceiveQuery{AgentID: "ada", Limit: 1})
			return err
		},
		"peek": func() error {
			_, err := p.Peek(t.Context(), who, relay.ReceiveQuery{AgentID: "ada", Limit: 1})
			return err
		},
		"send": func() error {
			_, err := p.Send(t.Context(), who, &relay.SendRequest{From: "ada", To: "ada", Blob: []byte("x"), BlobHash: mmp.HashOf("x").Bare()})
			return err
		},
		"post": func() error {
			_, err := p.Post(t.Context(), who, &board.PostRequestBody{AgentID: "ada", Type: board.PostOffer})
			return err
		},
		"register": func() error {
			_, err := p.Register(t.Context(), who, &board.Registration{ID: "new"})
			return err
		},
		"key": func() error {
			_, err := p.RegisterKey(t.Context(), who, &mmp.KeyRequest{AgentID: "new", Key: testKey().Public()})
			return err
		},
		"unregister": func() error {
			_, err := p.Unregister(t.Context(), who, "ada")
			return err
		},
	} {
		if err := call(); !errors.Is(err, mmp.ErrNotYourAgent) {
			t.Errorf("%s: %v; want mmp.ErrNotYourAgent", name, err)
		}
	}
}
