package place_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/place"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/relay"
)

// Entries that were written together are listed, numbered and summed like those
// that were written one by one, before they are rolled up and after.
func TestEntriesOfABatchAreCountedOneByOne(t *testing.T) {
	p, clk := open(t, storetest.SQLite(t), place.Config{Auth: place.Open, MaxUnknown: 1 << 20})
	together(60, func(i int) {
		send(t, p, stranger, "ada", fmt.Sprint("bob", i%3), "sealed")
		if _, err := p.Register(t.Context(), stranger, &board.Registration{ID: fmt.Sprint("new", i), Name: "new"}); err != nil {
			t.Error(err)
		}
	})
	for i := range 3 {
		receive(t, p, stranger, relay.ReceiveQuery{AgentID: fmt.Sprint("bob", i), Limit: 100})
	}
	type seen struct {
		Summary board.AuditSummary
		Hours   board.AuditHour // together: an hour may end meanwhile
		Edges   []place.Edge
		Relay   int
		New     int
	}
	look := func() (s seen) {
		stats, err := p.AuditStats(t.Context(), stranger, 3)
		if err != nil {
			t.Fatal(err)
		}
		s.Summary = stats.Summary
		for _, h := range stats.Hourly {
			s.Hours.RelayCount += h.RelayCount
			s.Hours.TotalBytes += h.TotalBytes
			s.Hours.UniqueAgents += h.UniqueAgents
		}
		if s.Edges, err = p.Graph(t.Context(), operator, 10); err != nil {
			t.Fatal(err)
		}
		for kind, into := range map[string]*int{board.AuditRelay: &s.Relay, board.AuditRegistration: &s.New} {
			list, err := p.Audit(t.Context(), stranger, board.AuditQuery{Type: kind, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			*into = list.Count
		}
		return s
	}
	before := look()
	if s := before.Summary; s.TotalRelays != 120 || s.TotalRegistrations != 60 || before.Relay != 120 || before.New != 60 || before.Hours.UniqueAgents < 4 {
		t.Errorf("%+v", before)
	}
	if len(before.Edges) != 3 || before.Edges[0].Messages != 20 {
		t.Errorf("%+v; want len(before.Edges) to be 3, before.Edges[0].Messages to be 20", before.Edges)
	}
	clk.pass(11 * time.Second)
	if err := p.RollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("rolled up it differs:\n%s", diff)
	}
	list, err := p.Audit(t.Context(), stranger, board.AuditQuery{AgentID: "bob1", Limit: 5})
	if err != nil || list.Count != 5 || list.Entries[4].Action != "dequeue" {
		t.Errorf("%+v %v; want no error, list.Count to be 5, list.Entries[4].Action to be \"dequeue\"", list, err)
	}
}
