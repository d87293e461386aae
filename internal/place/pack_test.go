package place

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/place/relay"
	"parley.internal/protocol/mmp/board"
)

// What goes into a pack comes out of it, whatever its texts hold.
func FuzzPack(f *testing.F) {
	f.Add("enqueue", "ada", "bob", "relay_1", "a\tb", int64(5), "sha256:x", "")
	f.Add("register", "ada", "", "", "", int64(0), "", "")
	f.Add("dropped", "", "\n", `\n`, `\\t`, int64(-1), "", `{"r":"queue_full"}`)
	f.Fuzz(func(t *testing.T, action, agent, other, ref, kind string, size int64, hash, detail string) {
		if action == actPack || action == "" {
			return
		}
		want := []auditRow{
			{seq: 41, at: 7, event: board.AuditRelay, action: action, agent: agent, other: other, ref: ref, kind: kind, size: size, hash: hash, detailRaw: detail},
			{seq: 42, at: 7, event: board.AuditRelay, action: relay.Dequeue, agent: agent},
		}
		var lines []byte
		for _, e := range want {
			lines = packEntry(lines, e.action, e.agent, e.other, e.ref, e.kind, e.size, e.hash, e.detailRaw)
		}
		pack := auditRow{seq: 42, at: 7, event: board.AuditRelay, action: actPack, detailRaw: string(lines)}
		if diff := cmp.Diff(want, pack.unpack(), cmp.AllowUnexported(auditRow{})); diff != "" {
			t.Error(diff)
		}
	})
}

// A pack that somebody spoiled harms nobody.
func FuzzUnpack(f *testing.F) {
	f.Add("enqueue\tada\tbob\trelay_1\tt\t5\thash\nx\n\n\t\t\t\t\tnumber")
	f.Add("\\")
	f.Fuzz(func(t *testing.T, lines string) {
		got := auditRow{seq: 9, action: actPack, detailRaw: lines}.unpack()
		if len(got) != strings.Count(lines, "\n")+1 || got[len(got)-1].seq != 9 {
			t.Errorf("%d entries, the last is %d", len(got), got[len(got)-1].seq)
		}
	})
}
