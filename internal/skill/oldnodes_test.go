package skill_test

import (
	"fmt"
	"testing"

	"parley.internal/internal/place"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/meeting"
)

// A node of January 2026 proves nothing, names no format, and stands twice at the end
// of the way its skill came. Its offer was declined; now it is fetched, and waits in
// quarantine for a person who looks.
func TestAnOfferOfAJanuaryNodeWaitsInQuarantine(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{L2Offers: true})
	january := place.Sender{ID: "january", Version: 1}
	hash := mmp.HashOf(text).Prefixed()
	if r := bob.say(january, meeting.ActionOfferSkill, map[string]any{"skill_id": "tea", "skill_name": "Tea", "content_hash": hash}, ""); r.Status != meeting.ResultReceived {
		t.Fatalf("the offer: %+v", r)
	}
	e := bob.lastExchange()
	if e.State != meeting.ExAccepted || e.Format != meeting.FormatMarkdown {
		t.Fatalf("the offer was not taken as Markdown: %+v", e)
	}
	r := bob.say(january, meeting.ActionSkillContent, map[string]any{
		"skill_id": "tea", "skill_name": "Tea", "content": text, "content_hash": hash,
		"provenance": map[string]any{"origin": "first", "chain": []string{"first", "january", "january"}, "hop_count": 2},
	}, e.Opening)
	if r.Status != meeting.ResultReceived {
		t.Fatalf("the skill: %+v", r)
	}
	item := bob.only()
	if item.State != skill.StateQuarantined || item.Level != skill.L2 || item.Asked || item.Unsolicited {
		t.Errorf("it does not wait for a person who looks: %+v", item)
	}
	if p := item.Provenance; len(p.Chain) != 2 || p.HopCount != 1 || p.Origin != "first" {
		t.Errorf("the way it came was not folded: %+v", p)
	}
}

// Strangers take as many names as they like, so they share one room.
func TestStrangersShareTheRoomOfOne(t *testing.T) {
	w := newWorld(t)
	bob := w.add("bob", skill.Config{L2Offers: true})
	taken := 0
	for n := range 30 {
		r := bob.say(stranger(fmt.Sprintf("stranger-%d", n)), meeting.ActionSkillContent, content("Tea", fmt.Sprint(text, n), nil), "")
		if r.Status == meeting.ResultReceived {
			taken++
		}
	}
	if taken != 20 {
		t.Errorf("%d skills of thirty strangers wait; there is room for 20", taken)
	}
	if r := bob.say(proven("ada"), meeting.ActionSkillContent, content("Tea", text, nil), ""); r.Status != meeting.ResultReceived {
		t.Errorf("strangers took the room of a proven peer: %+v", r)
	}
}
