package seat

import (
	crand "crypto/rand"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"parley.internal/protocol/kibitz"
)

// cardsSchema says how to read the table's views.
const cardsSchema = `{"type":"object","required":["table","turn","scores"],"properties":{` +
	`"hand":{"type":"array","items":{"type":"string"},"description":"your cards, such as 10H; absent for bystanders"},` +
	`"table":{"type":"array","items":{"type":"object","required":["by","card"],"properties":{"by":{"type":"string"},"card":{"type":"string"}}}},` +
	`"turn":{"type":"string","description":"the participant who plays next; empty while there is nobody to play with"},` +
	`"scores":{"type":"object","additionalProperties":{"type":"integer"}}},` +
	`"x-act":{"play":"a card of your hand, when it is your turn"}}`

// table is the card table on its chair. It sends one frame at a time, each after
// the answer to the one before, so it never runs into its own rate.
type table struct {
	*chair
	game *game
	// shown is the last view each participant has, by its text.
	shown     map[string]string
	published bool
	busy      bool
	timer     *time.Timer
}

func newTable(c *chair) *table {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // never fails
	t := &table{chair: c, game: newGame(rand.New(rand.NewChaCha8(seed))), shown: map[string]string{}}
	c.guest = t
	return t
}

func (t *table) meta() map[string]any { return map[string]any{"role": "agent", "readOnly": false} }

func (t *table) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *table) frame(frame kibitz.Frame) {
	switch f := frame.(type) {
	case *kibitz.Roster, *kibitz.Caps:
		t.seats()
	case *kibitz.Republish:
		t.published = false
		clear(t.shown)
	case *kibitz.From:
		t.act(f)
	case *kibitz.Live:
	default:
		return
	}
	t.show()
}

// seats deals in whoever may play, and takes the cards of who is gone or may not
// any more.
func (t *table) seats() {
	for _, p := range slices.Clone(t.game.players) {
		if _, here := t.member(p.id); !here || !t.plays(p.id) {
			t.game.leave(p.id)
		}
	}
	for _, m := range t.members {
		if m.ID != t.self.ID && t.plays(m.ID) {
			t.game.sit(m.ID)
		}
	}
	for id := range t.shown {
		if _, here := t.member(id); !here || !t.grants[id].Has(kibitz.ReceiveDirected) {
			delete(t.shown, id)
		}
	}
}

// plays reports whether somebody may take a seat: it must be able to see a hand
// and to play a card.
func (t *table) plays(id string) bool {
	g := t.grants[id]
	return g.Has(kibitz.Act) && g.Has(kibitz.ReceiveDirected)
}

// act honours {"play":CARD} from whoever's turn it is, and ignores all else.
func (t *table) act(f *kibitz.From) {
	var c struct {
		K    kibitz.ContentKind `json:"k"`
		Data kibitz.Raw         `json:"data"`
	}
	if json.Unmarshal(f.C, &c) != nil || c.K != kibitz.ContentApp {
		return
	}
	kind, inside := kibitz.OpenEnvelope(c.Data)
	var action struct {
		Play string `json:"play"`
	}
	if kind == kibitz.EnvelopeAct && json.Unmarshal(inside, &action) == nil {
		t.game.play(f.From, action.Play)
	}
}

// show sends the schema, then to each participant what it does not have yet.
func (t *table) show() {
	if t.busy || !t.may(kibitz.SendChat) {
		return
	}
	if !t.published {
		t.push(map[string]any{"k": kibitz.ContentSchema, "name": "cards", "version": "1", "schema": json.RawMessage(cardsSchema)}, "", func() { t.published = true })
		return
	}
	for _, m := range t.members {
		if m.ID == t.self.ID || !t.grants[m.ID].Has(kibitz.ReceiveDirected) {
			continue
		}
		view, err := json.Marshal(t.game.seenBy(m.ID))
		if err != nil || t.shown[m.ID] == string(view) {
			continue
		}
		data := map[string]any{"__kib_agent": kibitz.EnvelopeView, "view": json.RawMessage(view)}
		t.push(map[string]any{"k": kibitz.ContentApp, "data": data}, m.ID, func() { t.shown[m.ID] = string(view) })
		return
	}
}

// push sends one thing and goes on with the next once it is taken. What was
// refused for good is left until something changes.
func (t *table) push(content map[string]any, to string, taken func()) {
	t.busy = true
	t.send(content, to, func(no *kibitz.Nak) {
		switch {
		case no == nil:
			taken()
		case no.Code == kibitz.LimitRate:
			t.timer = time.AfterFunc(time.Duration(no.RetryMs)*time.Millisecond, func() { t.post(t.resume) })
			return
		case to != "":
			// Gone or without the right by now; the roster will say so.
			taken()
		default:
			t.busy = false
			return
		}
		t.resume()
	})
}

func (t *table) resume() {
	t.busy = false
	t.show()
}
