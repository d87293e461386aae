package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley.internal/internal/brain/model"
	"parley.internal/internal/store/storetest"
	"parley.internal/internal/talk/memory"
)

// What people talk about with an agent over months: things, whose they are, and everything else.
var (
	things = strings.Fields("boiler passport locker invoice router alarm parcel ticket policy account freezer bicycle contract licence warranty tent")
	owners = strings.Fields("Ahmet Brigitte Chandra Dmitri Esperanza Fatou Giorgio Hiroko Ingrid Jamal Katarzyna Lorenzo Mbali Nguyen Olumide Priya")
	topics = strings.Fields("weather garden school train dinner holiday music football painting kitchen window letter doctor printer neighbour street")
	verbs  = strings.Fields("repaired bought sold painted forgot found moved cleaned checked ordered returned opened")
)

// A fact is said once; each of its questions must lead back to it.
type fact struct{ said, secret string }

var tellings = []string{
	"By the way, the %[1]s of %[2]s has the number %[3]d.",
	"%[2]s told me today: %[1]s no. %[3]d, in case we need it.",
	"Note for later, %[2]s's %[1]s is %[3]d",
	"I finally found it: %[3]d is on the %[1]s that belongs to %[2]s, and it was under the sofa the whole time.",
}

var askings = []string{
	"What was the number of the %[1]s of %[2]s again?",
	"Can you tell me which number %[2]s's %[1]s has?",
	"I need the %[1]s number for %[2]s, do you remember it?",
	"Hey, sorry to ask, but what did I say about the %[1]s that %[2]s owns?",
	"Wie war noch mal die Nummer von dem %[1]s von %[2]s?",
	"Quel était le numéro du %[1]s de %[2]s ?",
	"¿Cuál era el número del %[1]s de %[2]s?",
	"%[2]s %[1]s",
}

// chatter has the things, the owners and the words of questions, only never a thing with its owner's name.
func chatter(random *rand.Rand) string {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	switch random.IntN(6) {
	case 0:
		return fmt.Sprintf("Do you remember what %s said about the %s?", pick(owners), pick(topics))
	case 1:
		return fmt.Sprintf("The %s was %s again, and the number of the %s is the same.", pick(things), pick(verbs), pick(topics))
	case 2:
		return fmt.Sprintf("Can you tell me the number of people who %s a %s in the %s?", pick(verbs), pick(things), pick(topics))
	case 3:
		return fmt.Sprintf("%s %s the %s and I need to know which %s that was.", pick(owners), pick(verbs), pick(topics), pick(topics))
	case 4:
		return fmt.Sprintf("What was that about the %s? I did say something to %s.", pick(topics), pick(owners))
	}
	return fmt.Sprintf("It is about the %s, the %s and the %s, of which there are %d.", pick(topics), pick(topics), pick(things), random.IntN(100))
}

// remembered fills a memory with so many messages and 100 facts among them, and says what was asked.
func remembered(t *testing.T, m *memory.Memory, messages int) (id string, facts []fact, questions []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(messages)))
	id = opened(t, m, main)
	var batch []memory.Message
	flush := func() {
		if _, err := m.Append(t.Context(), nil, id, batch...); err != nil {
			t.Fatal(err)
		}
		batch = batch[:0]
	}
	const asked = 100
	for i := range messages {
		text := chatter(random)
		if i%(messages/asked) == 7 && len(facts) < asked {
			n := len(facts)
			thing, owner := things[n%len(things)], owners[(n/len(things)*5+n)%len(owners)]
			secret := 100_000 + n*7919
			text = fmt.Sprintf(tellings[n%len(tellings)], thing, owner, secret)
			facts = append(facts, fact{text, fmt.Sprint(secret)})
			questions = append(questions, fmt.Sprintf(askings[n/3%len(askings)], thing, owner))
		}
		role := model.User
		if i%2 == 1 {
			role = model.Assistant
		}
		if batch = append(batch, said(role, text)); len(batch) == 500 {
			flush()
		}
	}
	flush()
	return id, facts, questions
}

// foundFirst counts the questions whose fact is among the first three hits.
func foundFirst(t *testing.T, m *memory.Memory, q memory.Query, facts []fact, questions []string) (hits int) {
	t.Helper()
	for i, question := range questions {
		q.Text = question
		first := snippets(search(t, m, q))
		first = first[:min(3, len(first))]
		if strings.Contains(strings.Join(first, "\n"), facts[i].secret) {
			hits++
			continue
		}
		t.Logf("%q: want %q, found first %q", question, facts[i].said, first)
	}
	return hits
}

// An agent that is asked in plain words finds what was said, whatever words are around those that matter.
func TestPlainQuestionsFindWhatWasSaid(t *testing.T) {
	check := func(t *testing.T, m *memory.Memory, messages int) {
		_, facts, questions := remembered(t, m, messages)
		if len(questions) != 100 {
			t.Fatalf("%d questions were made, want 100", len(questions))
		}
		q := memory.Query{Any: true, Agent: main.Agent, Sender: main.Sender, Near: -1}
		if n := foundFirst(t, m, q, facts, questions); n < 95 {
			t.Errorf("of 100 questions over %d messages %d were answered among the first three hits, want 95", messages, n)
		}
	}
	t.Run("1200", func(t *testing.T) {
		each(t, func(t *testing.T, m *memory.Memory) { check(t, m, 1200) })
	})
	t.Run("100000", func(t *testing.T) {
		check(t, memory.New(storetest.SQLite(t)), 100_000)
	})
}
