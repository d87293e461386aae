package seat_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

var cardText = regexp.MustCompile(`"(?:[2-9]|10|[JQKA])[CDHS]"`)

func (p *person) last() view {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.views) == 0 {
		return view{}
	}
	return p.views[len(p.views)-1]
}

// hands are all cards somebody ever held.
func (p *person) hands() (all []string) {
	for _, v := range p.views {
		all = append(all, v.Hand...)
	}
	return all
}

func (p *person) play(table, card string) {
	p.do(obj{"t": "send", "to": table, "c": obj{"k": "app", "data": obj{"__kib_agent": "act", "action": obj{"play": card}}}})
	later(2 * time.Second)
}

// strip is a frame without the table of its view.
func strip(t *testing.T, frame string) string {
	t.Helper()
	var f map[string]any
	if err := json.Unmarshal([]byte(frame), &f); err != nil {
		t.Fatal(err)
	}
	c, _ := f["c"].(map[string]any)
	data, _ := c["data"].(map[string]any)
	if v, ok := data["view"].(map[string]any); ok {
		delete(v, "table")
	}
	out, _ := json.Marshal(f)
	return string(out)
}

func TestNoFrameOfAnOpponentOrABystanderHasAHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, sqlite(t), &script{think: says("x")}, true) // with the usual rates
		info := must(h.seats.OpenDemo(t.Context(), me, room.OpenRequest{Room: "Card Game", Policy: []byte(`{"humans":{"mode":"open"},"agents":{"mode":"open"}}`)}, "cards"))(t)
		id := info.Room
		later(time.Second)
		players := []*person{h.host(id), h.enter(id, "Ben", nil), h.enter(id, "Cat", nil)}
		bystander := &person{t: t}
		bystander.connection = must(h.rooms.Enter(t.Context(), room.Entry{Room: id, Link: bystander}))(t)
		t.Cleanup(bystander.connection.Gone)
		bystander.do(obj{"t": "voice", "on": true, "name": "Bot", "meta": obj{"role": "agent"}})
		later(5 * time.Second)
		table, ok := players[0].find("cards")
		if !ok || table.Kind != kibitz.Agent || table.Egress {
			t.Fatalf("%+v; want ok, table.Kind to be %v, not table.Egress", table, kibitz.Agent)
		}
		byID := map[string]*person{}
		for _, p := range players {
			byID[p.self.ID] = p
			if len(p.last().Hand) != 5 || p.schema != "cards@1" {
				t.Fatalf("%+v %q; want len(p.last().Hand) to be 5, p.schema to be \"cards@1\"", p.last(), p.schema)
			}
		}
		var played []string
		for range 12 {
			turn := byID[players[0].last().Turn]
			for _, p := range players {
				if p != turn { // out of turn nothing happens, nor with a card of somebody else
					before := fmt.Sprint(p.last())
					p.play(table.ID, p.last().Hand[0])
					turn.play(table.ID, p.last().Hand[0])
					if after := fmt.Sprint(p.last()); after != before {
						t.Fatalf("played out of turn: %s → %s", before, after)
					}
				}
			}
			card := turn.last().Hand[0]
			turn.play(table.ID, card)
			played = append(played, card)
			if on := turn.last().Table; len(on) == 0 || on[len(on)-1].Card != card {
				t.Fatalf("%s is not on the table: %+v", card, on)
			}
		}
		for _, p := range append(players, bystander) {
			own := p.hands()
			if (p == bystander) != (len(own) == 0) {
				t.Fatalf("held %v", own)
			}
			for _, frame := range p.frames {
				for _, card := range cardText.FindAllString(strip(t, frame), -1) {
					if !slices.Contains(own, card[1:len(card)-1]) {
						t.Errorf("%s sees %s in %s", p.self.Name, card, frame)
					}
				}
			}
			for _, v := range p.views {
				for _, on := range v.Table {
					if !slices.Contains(played, on.Card) {
						t.Errorf("%s was never played: %+v", on.Card, v)
					}
				}
			}
		}
		if v := bystander.last(); len(v.Scores) != 3 || v.Turn == "" || len(v.Table) == 0 {
			t.Errorf("a bystander sees %+v", v)
		}
		// Views to all, and views of others, are refused.
		players[0].show(1)
		players[0].do(obj{"t": "send", "n": 9, "c": obj{"k": "app", "data": obj{"__kib_agent": "view", "view": 1}}})
		if no := players[0].nak; no == nil || no.Code != kibitz.ViewNotPublisher {
			t.Errorf("%+v; want no not to be nil, no.Code to be %v", no, kibitz.ViewNotPublisher)
		}
		state := must(h.rooms.Policy(t.Context(), me, id))(t)
		if !state.Policy.Views.DirectedOnly || state.Policy.Humans.Mode != "open" {
			t.Errorf("%+v; want state.Policy.Views.DirectedOnly, state.Policy.Humans.Mode to be \"open\"", state.Policy)
		}
	})
}

func TestWhoLosesTheRightToPlayIsABystander(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, sqlite(t), &script{}, false)
		id := must(h.seats.OpenDemo(t.Context(), me, room.OpenRequest{Room: "r", Policy: []byte(gated)}, "cards"))(t).Room
		ann, ben := h.host(id), h.enter(id, "Ben", nil)
		later(time.Second)
		if ann.last().Turn == "" || len(ben.last().Hand) != 5 {
			t.Fatalf("%+v; want ann.last().Turn not to be \"\", len(ben.last().Hand) to be 5", ben.last())
		}
		h.let(id, ben.self.ID, kibitz.SendChat)
		if v := ben.last(); v.Hand != nil || v.Turn != "" {
			t.Errorf("%+v; want v.Hand to be nil, v.Turn to be \"\"", v)
		}
		if _, err := h.seats.OpenDemo(t.Context(), me, room.OpenRequest{Room: "x"}, "chess"); kibitz.CodeOf(err) != kibitz.ContentBad {
			t.Error(err)
		}
		if _, err := h.seats.OpenDemo(t.Context(), me, room.OpenRequest{Room: "x", Policy: []byte(`{"sealed":true}`)}, "cards"); kibitz.CodeOf(err) != kibitz.SealRequired {
			t.Error(err)
		}
		if err := h.rooms.Close(t.Context(), me, id); err != nil {
			t.Fatal(err)
		}
		later(10 * time.Second)
		if list := must(h.seats.List(t.Context(), id))(t); len(list) != 0 {
			t.Errorf("%+v; want len(list) to be 0", list)
		}
	})
}
