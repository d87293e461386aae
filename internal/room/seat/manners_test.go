package seat

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func speaking() *manners {
	m := newManners("kibitzer")
	m.allow(true)
	return m
}

func look(m *manners, text string) { m.see(json.RawMessage(text), true) }

func TestACommentWaitsForTheCooldownAndAReplyDoesNot(t *testing.T) {
	m := speaking()
	look(m, `1`)
	if j, _ := m.next(start); string(j.view) != `1` {
		t.Fatalf("the first view: %+v", j)
	}
	m.said("one", start)
	look(m, `2`)
	look(m, `3`)
	if j, wait := m.next(start.Add(2 * time.Second)); j.some() || wait != 4*time.Second {
		t.Errorf("within the cooldown: %+v %s", j, wait)
	}
	// The line follows its own, so it is meant for it.
	if !m.hear(Line{Name: "Ann", Text: "really?"}) {
		t.Error("a line that follows its own is not answered")
	}
	at := start.Add(3 * time.Second)
	if j, _ := m.next(at); j.reply == nil || j.reply.Text != "really?" {
		t.Errorf("the reply: %+v", j)
	}
	m.said("really", at)
	if j, wait := m.next(start.Add(6 * time.Second)); j.some() || wait != 3*time.Second {
		t.Errorf("a reply has not stamped the cooldown: %+v %s", j, wait)
	}
	if j, _ := m.next(start.Add(9 * time.Second)); string(j.view) != `3` {
		t.Errorf("not the newest view: %+v", j)
	}
}

func TestWhatIsMeantForIt(t *testing.T) {
	for text, want := range map[string]bool{
		"kibitzer, what now?": true, "what do you think, Kibitzer?": true, "ask KIBITZER!": true,
		"kibitzers are many": false, "nobody": false, "akibitzer": false, "akibitzer or kibitzer": true,
	} {
		if got := speaking().hear(Line{Text: text}); got != want {
			t.Errorf("%q: %t; want %v", text, got, want)
		}
	}
	m := speaking()
	m.said("x", start)
	m.hear(Line{Text: "one"})
	if m.hear(Line{Text: "two"}) {
		t.Error("the second line after its own is answered, too")
	}
}

func TestWithoutTheRightThereIsNothingToThinkAbout(t *testing.T) {
	m := newManners("kibitzer")
	look(m, `1`)
	m.hear(Line{Text: "kibitzer?"})
	if j, wait := m.next(start); j.some() || wait != 0 {
		t.Errorf("%+v %s; want not j.some(), wait to be 0", j, wait)
	}
	m.allow(true)
	if j, _ := m.next(start); j.some() {
		t.Errorf("it comes back to what it heard without the right: %+v", j)
	}
	look(m, `2`)
	m.hear(Line{Text: "kibitzer?"})
	m.allow(false)
	m.allow(true)
	if j, _ := m.next(start); j.some() {
		t.Errorf("it comes back to what it heard before the right was withdrawn: %+v", j)
	}
	m.see(json.RawMessage(`3`), false)
	if j, _ := m.next(start); j.some() {
		t.Errorf("a view from before is commented on: %+v", j)
	}
}

func TestARefusedLineIsNeverRepeated(t *testing.T) {
	m := speaking()
	m.denied("no way")
	if got := m.words("no\n way", job{reply: &Line{}}); got != "" {
		t.Errorf("repeated: %q", got)
	}
	m.said("nice", start)
	if got := m.words("nice", job{}); got != "" {
		t.Errorf("the same comment twice: %q", got)
	}
	if got := m.words("nice", job{reply: &Line{}}); got != "nice" {
		t.Errorf("a reply may be the same: %q", got)
	}
	if got := m.words("PASS.", job{}); got != "" {
		t.Errorf("said %q", got)
	}
	if got := m.words(strings.Repeat("ä ", 600), job{}); len([]rune(got)) != 500 {
		t.Errorf("%d characters", len([]rune(got)))
	}
}

func TestAnInterruptedCommentIsTakenUpUnlessThereIsANewerView(t *testing.T) {
	m := speaking()
	look(m, `1`)
	j, _ := m.next(start)
	m.giveBack(j)
	if again, _ := m.next(start.Add(pauseBetween)); string(again.view) != `1` {
		t.Errorf("%+v; want string(again.view) to be \"1\"", again)
	}
	look(m, `2`)
	m.giveBack(j)
	if again, _ := m.next(start.Add(2 * pauseBetween)); string(again.view) != `2` {
		t.Errorf("%+v; want string(again.view) to be \"2\"", again)
	}
}
