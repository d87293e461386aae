package memory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/talk/memory"
)

// Files from before markers had a title and a time.
func TestOldMarkersLoadWithEmptyTitleAndTime(t *testing.T) {
	each(t, func(t *testing.T, m *memory.Memory) {
		file := `{"agent":"crab","created_by":"user","created_at":"2026-04-03T10:00:00+00:00","title":"","uptime_secs":5}
{"role":"user","content":"old"}
{"role":"assistant","content":"words"}
{"compact":"What was said."}
{"role":"user","content":"new"}
{"role":"assist`
		out, err := m.Import(t.Context(), strings.NewReader(file), memory.ImportOptions{})
		if err != nil || out.Messages != 3 || out.Archives != 1 || out.Skipped != 1 {
			t.Fatalf("%+v, %v; want no error, out.Messages to be 3, out.Archives to be 1, out.Skipped to be 1", out, err)
		}
		list, err := m.Archives(t.Context(), out.ID, "", 0)
		if err != nil || len(list) != 1 || list[0].Title != "" || list[0].ArchivedAt != "" || list[0].Summary != "What was said." {
			t.Errorf("%+v, %v", list, err)
		}
		w, err := m.Window(t.Context(), out.ID)
		if diff := cmp.Diff([]string{"3 user new"}, texts(w.Messages)); diff != "" || err != nil || w.Archive == nil {
			t.Error(diff, err)
		}
	})
}
