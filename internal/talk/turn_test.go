package talk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/talk"
)

func TestATurnStartsSpeaksAndEnds(t *testing.T) {
	h := newHub(t, sqlite(t))
	got := h.say("/say Hello there")
	if diff := cmp.Diff([]talk.Kind{talk.Start, talk.Segment, talk.Chunk, talk.Chunk, talk.Segment, talk.RoundUsage, talk.End}, got.kinds()); diff != "" {
		t.Error(diff)
	}
	if got.text() != "Hello there" || got[0].Agent != "crab" || got.end(t).Agent != "crab" || got.end(t).Error != "" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"user /say Hello there", "assistant Hello there"}, h.stored(crab)); diff != "" {
		t.Error(diff)
	}
}
