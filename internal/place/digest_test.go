package place_test

import (
	"testing"
	"time"

	"parley.internal/internal/place"
	"parley.internal/internal/store/storetest"
	"parley.internal/protocol/mmp/board"
)

// TestMain looks whether the trail was told.
func TestTheSumOfAnHourIsPutIntoTheHubsTrail(t *testing.T) {
	p, clk := open(t, storetest.SQLite(t), place.Config{})
	if _, err := p.Register(t.Context(), stranger, &board.Registration{ID: "ada"}); err != nil {
		t.Fatal(err)
	}
	clk.pass(time.Hour)
	for range 2 { // the second finds nothing left to do
		if err := p.Digest(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
