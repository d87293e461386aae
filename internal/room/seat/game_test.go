package seat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestACardIsPlayedOnlyByTheSeatWhoseTurnItIs(t *testing.T) {
	g := newGame(rand.New(rand.NewPCG(1, 2)))
	g.sit("ann")
	if g.next() != "" || g.play("ann", g.players[0].hand[0]) {
		t.Error("somebody plays alone")
	}
	g.sit("ben")
	ann, ben := g.players[0].hand, g.players[1].hand
	if g.play("ben", ben[0]) || g.play("ann", ben[0]) || g.play("cat", ann[0]) || g.play("", ann[0]) || g.play("ann", "") {
		t.Error("played out of turn, or a card of somebody else")
	}
	if !g.play("ann", ann[0]) || g.next() != "ben" || !g.play("ben", g.players[1].hand[0]) {
		t.Error("not played in turn")
	}
	if total := g.scores["ann"] + g.scores["ben"]; total != 1 || g.scores[g.next()] != 1 {
		t.Errorf("the winner leads with a point: %v, %s", g.scores, g.next())
	}
	if s := g.seenBy("cat"); s.Hand != nil || len(s.Table) != 2 {
		t.Errorf("a bystander sees %+v", s)
	}
}

// Whatever happens at the table: no card is in two places, each seat has a full
// hand, and if two are there it is somebody's turn.
func TestNoCardIsEverInTwoPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGame(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		ids := []string{"a", "b", "c", "d", "e"}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				g.leave(id)
			case 1:
				g.sit(id)
			default:
				if at := g.index(g.next()); at >= 0 {
					g.play(g.next(), g.players[at].hand[rapid.IntRange(0, handSize-1).Draw(t, "card")])
				}
			}
			seen := []string{}
			for _, p := range g.players {
				if len(p.hand) != handSize {
					t.Fatalf("%s holds %v", p.id, p.hand)
				}
				seen = append(seen, p.hand...)
			}
			for _, p := range slices.Concat(g.trick, g.done) {
				seen = append(seen, p.Card)
			}
			slices.Sort(seen)
			if len(slices.Compact(slices.Clone(seen))) != len(seen) {
				t.Fatalf("twice: %v", seen)
			}
			if (g.next() == "") != (len(g.players) < 2) {
				t.Fatalf("%d seats, turn %q", len(g.players), g.next())
			}
		}
	})
}
