package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/internal/bench/system"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/store"
	"parley.internal/internal/talk/memory"
)

// appendRow: a conversation may last for years.
func appendRow() Row {
	return Row{Name: "append", What: "one message of 1 KiB added to a conversation, durably and searchable", Run: runAppend}
}

// searchRow: finding something said long ago.
func searchRow() Row {
	return Row{Name: "search", What: "searching all conversations, the commonest words among the queries, and recalling by plain questions", Run: runSearch}
}

// past is a growing conversation.
type past struct {
	mem *memory.Memory
	db  *store.DB
	id  string
	n   int
}

func openPast(ctx context.Context, env *Env) (*past, error) {
	db, err := store.Open(ctx, filepath.Join(env.Dir, "parley.db"), store.Options{})
	if err != nil {
		return nil, err
	}
	p := &past{mem: memory.New(db), db: db}
	c, err := p.mem.Open(ctx, memory.Key{Agent: "parley", Sender: "user"}, false)
	p.id = c.ID
	return p, err
}

// text makes texts in which some words are everywhere and most are rare,
// as in what people write.
func (p *past) text(i int) string {
	b := make([]byte, 0, 1100)
	b = append(b, "the hub and the agent"...)
	for w := 0; len(b) < 1000; w++ {
		b = fmt.Appendf(b, " word%d", (i*31+w*w*7)%(50+w*200))
	}
	return string(b)
}

func (p *past) add(ctx context.Context, n int) error {
	msgs := make([]memory.Message, n)
	for i := range msgs {
		role := model.User
		if i%2 == 1 {
			role = model.Assistant
		}
		msgs[i].Message = model.Message{Role: role, Text: p.text(p.n + i)}
	}
	p.n += n
	_, err := p.mem.Append(ctx, nil, p.id, msgs...)
	return err
}

// growTo fills the conversation up in large steps.
func (p *past) growTo(ctx context.Context, env *Env, n int) error {
	env.say("filling up to %s", count(n, "message"))
	for p.n < n {
		if err := p.add(ctx, min(n-p.n, 500)); err != nil {
			return err
		}
	}
	return nil
}

func runAppend(ctx context.Context, env *Env) ([]Result, error) {
	p, err := openPast(ctx, env)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.db.Close() }()
	var steps []Result
	for _, n := range pick(env, []int{10, 1_000, 100_000}, []int{10, 1_000}) {
		if err := p.growTo(ctx, env, n); err != nil {
			return steps, err
		}
		tries := pick(env, 2_000, 100) // the index takes texts in together: many of them, to be fair
		began, cpu := time.Now(), system.CPUTime()
		for range tries {
			if err := p.add(ctx, 1); err != nil {
				return steps, err
			}
		}
		wall := time.Since(began) / time.Duration(tries)
		r := atMost(count(n, "message")+" there", took(wall), float64(time.Millisecond))
		r.cost = (system.CPUTime() - cpu) / time.Duration(tries)
		r.Note = "CPU " + took(r.cost).String()
		steps = append(steps, r)
	}
	grow(steps, perOp(steps))
	return steps, nil
}

func runSearch(ctx context.Context, env *Env) ([]Result, error) {
	p, err := openPast(ctx, env)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.db.Close() }()
	var steps, questions []Result
	for _, c := range pick(env, []struct {
		n    int
		most time.Duration
	}{{10_000, 50 * time.Millisecond}, {100_000, 50 * time.Millisecond}, {1_000_000, 200 * time.Millisecond}}, []struct {
		n    int
		most time.Duration
	}{{1_000, 50 * time.Millisecond}}) {
		if err := p.growTo(ctx, env, c.n); err != nil {
			return steps, err
		}
		system.SettleDisk() // what filling left behind is not what a search waits for
		tries := pick(env, 600, 12)
		r, err := p.search(ctx, tries, typed, memory.Query{})
		if err != nil {
			return steps, err
		}
		r.Case, r.Target.Most = count(c.n, "message")+", p99", float64(c.most)
		steps = append(steps, r)
		r, err = p.search(ctx, tries, asked, memory.Query{Any: true, Limit: 5})
		if err != nil {
			return steps, err
		}
		r.Case, r.Target.Most = count(c.n, "message")+", recalled by plain questions, p99", float64(c.most)
		questions = append(questions, r)
	}
	grow(steps, perOp(steps))
	grow(questions, perOp(questions))
	return append(steps, questions...), nil
}

var (
	// typed is what somebody looks for: all of the words, the commonest among them.
	typed = []string{"hub agent", "the", "word7", "word40 word999", "nothing of the kind", "word12345"}
	// asked is what an agent recalls by: whole sentences, of which any word may lead to what was
	// said. The worst have common words only.
	asked = []string{
		"What did the hub say to the agent again?",
		"What was the number of word7 that the agent had?",
		"Can you tell me which word40 belongs to word999 of the hub?",
		"Hey, sorry to ask, but what did I say about word3, word5, word9 and word11 of the agent and the hub?",
		"Wie war noch mal die Nummer von word12345?",
		"Do you remember anything else of the kind?",
	}
)

// search tries texts in turn, as kind says.
func (p *past) search(ctx context.Context, tries int, texts []string, kind memory.Query) (Result, error) {
	all := make([]time.Duration, 0, tries)
	for i := range tries {
		began := time.Now()
		q := kind
		q.Text, q.Agent, q.Sender = texts[i%len(texts)], "parley", "user"
		if _, err := p.mem.Search(ctx, q); err != nil {
			return Result{}, err
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	r := atMost("", took(all[len(all)*99/100]), 0)
	r.Note = "median " + took(all[len(all)/2]).String()
	return r, nil
}
