package seat

import (
	"math/rand/v2"
	"slices"
)

const (
	maxPlayers = 4
	handSize   = 5
)

// cards are all cards, lowest first: the rank counts, then the suit.
func cards() []string {
	var all []string
	for _, rank := range []string{"2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"} {
		for _, suit := range []string{"C", "D", "H", "S"} {
			all = append(all, rank+suit)
		}
	}
	return all
}

// played is a card on the table.
type played struct {
	By   string `json:"by"`
	Card string `json:"card"`
}

// player is a seat with its hand.
type player struct {
	id   string
	hand []string
}

// game is a small game of tricks. Everybody plays one card in turn, the highest
// takes the trick for a point and leads the next, and each draws a card after
// playing. It never ends.
type game struct {
	rand    *rand.Rand
	deck    []string
	players []player
	trick   []played
	turn    int
	scores  map[string]int
	// done is the last trick, shown until the next card is played.
	done []played
}

func newGame(r *rand.Rand) *game { return &game{rand: r, scores: map[string]int{}} }

// draw gives a card; the deck is made anew of what nobody holds.
func (g *game) draw() string {
	if len(g.deck) == 0 {
		g.deck = slices.DeleteFunc(cards(), g.out)
		g.rand.Shuffle(len(g.deck), func(i, j int) { g.deck[i], g.deck[j] = g.deck[j], g.deck[i] })
	}
	card := g.deck[len(g.deck)-1]
	g.deck = g.deck[:len(g.deck)-1]
	return card
}

// out reports whether a card is in a hand or on the table.
func (g *game) out(card string) bool {
	onTable := func(p played) bool { return p.Card == card }
	return slices.ContainsFunc(g.trick, onTable) || slices.ContainsFunc(g.done, onTable) ||
		slices.ContainsFunc(g.players, func(p player) bool { return slices.Contains(p.hand, card) })
}

func (g *game) index(id string) int {
	return slices.IndexFunc(g.players, func(p player) bool { return p.id == id })
}

// sit deals somebody in, if there is a seat.
func (g *game) sit(id string) {
	if len(g.players) == maxPlayers || g.index(id) >= 0 {
		return
	}
	g.players = append(g.players, player{id: id})
	hand := &g.players[len(g.players)-1].hand
	for range handSize {
		*hand = append(*hand, g.draw())
	}
	g.scores[id] = 0
}

// leave takes somebody's hand away; a card it has played stays for this trick.
func (g *game) leave(id string) {
	at := g.index(id)
	if at < 0 {
		return
	}
	g.players = slices.Delete(g.players, at, at+1)
	delete(g.scores, id)
	if at < g.turn {
		g.turn--
	}
	g.closeTrick()
}

// next is whose turn it is; nobody's while there is nobody to play with.
func (g *game) next() string {
	if len(g.players) < 2 {
		return ""
	}
	return g.players[g.turn%len(g.players)].id
}

// play puts a card on the table; false unless it is that seat's turn and card.
func (g *game) play(id, card string) bool {
	if id == "" || g.next() != id {
		return false
	}
	p := &g.players[g.turn]
	at := slices.Index(p.hand, card)
	if at < 0 {
		return false
	}
	g.done = nil
	p.hand = slices.Delete(p.hand, at, at+1)
	g.trick = append(g.trick, played{id, card})
	p.hand = append(p.hand, g.draw())
	g.turn = (g.turn + 1) % len(g.players)
	g.closeTrick()
	return true
}

// closeTrick gives the trick to its winner once everybody has played, and keeps the
// turn at somebody who has not.
func (g *game) closeTrick() {
	if len(g.players) == 0 {
		g.trick, g.done, g.turn = nil, nil, 0
		return
	}
	g.turn %= len(g.players)
	has := func(id string) bool { return slices.ContainsFunc(g.trick, func(p played) bool { return p.By == id }) }
	for range g.players {
		if !has(g.players[g.turn].id) {
			return
		}
		g.turn = (g.turn + 1) % len(g.players)
	}
	order := cards()
	best := slices.MaxFunc(g.trick, func(a, b played) int { return slices.Index(order, a.Card) - slices.Index(order, b.Card) })
	if at := g.index(best.By); at >= 0 {
		g.scores[best.By]++
		g.turn = at
	}
	g.done, g.trick = g.trick, nil
}

// sight is the game as one participant sees it.
type sight struct {
	Hand   []string       `json:"hand,omitempty"`
	Table  []played       `json:"table"`
	Turn   string         `json:"turn"`
	Scores map[string]int `json:"scores"`
}

// seenBy is the game for a seat, with its hand, or for a bystander, without.
func (g *game) seenBy(id string) sight {
	table := g.trick
	if len(table) == 0 {
		table = g.done
	}
	s := sight{Table: slices.Concat([]played{}, table), Turn: g.next(), Scores: g.scores}
	if at := g.index(id); at >= 0 {
		s.Hand = slices.Clone(g.players[at].hand)
	}
	return s
}
