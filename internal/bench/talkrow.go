package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley.internal/client/agentfirst"
	wire "parley.internal/protocol/agentfirst"
)

// turnRow: what a person waits for, beside the model.
func turnRow() Row {
	return Row{Name: "turn", What: "a whole durable turn with the offline model over the Unix socket", Run: runTurns}
}

func runTurns(ctx context.Context, env *Env) ([]Result, error) {
	data := filepath.Join(env.Dir, "data")
	hub, err := env.start(ctx, "hub", data)
	if err != nil {
		return nil, err
	}
	defer hub.Stop()
	c, err := agentfirst.Dial(ctx, "unix://"+filepath.Join(data, "parley.sock"), agentfirst.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	took := make([]time.Duration, pick(env, 500, 20))
	for i := range took {
		began := time.Now()
		turn := &wire.Turn{Agent: "parley", Content: "/say hello"}
		if _, err := c.Send(ctx, turn); err != nil {
			return nil, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return []Result{
		atMost("median", Figure{float64(took[len(took)/2]), Nanos}, float64(4*time.Millisecond)),
		atMost("p99", Figure{float64(took[len(took)*99/100]), Nanos}, float64(20*time.Millisecond)),
	}, nil
}

// talkersRow: many people at once.
func talkersRow() Row {
	return Row{Name: "talkers", What: "conversations that stream 50 chunks a second each, at the same time", Run: runTalkers}
}

// pace is the pause between two chunks.
const pace = 20 * time.Millisecond

func runTalkers(ctx context.Context, env *Env) ([]Result, error) {
	data := filepath.Join(env.Dir, "data")
	hub, err := env.start(ctx, "hub", data)
	if err != nil {
		return nil, err
	}
	defer hub.Stop()
	var results []Result
	for _, n := range pick(env, []int{10, 100, 1000}, []int{10}) {
		env.say("%s", count(n, "conversation"))
		before, err := hub.Usage(false)
		if err != nil {
			return results, err
		}
		late, wall, err := talkers(ctx, data, n, pick(env, 200, 25))
		if err != nil {
			return results, err
		}
		after, err := hub.Usage(false)
		if err != nil {
			return results, err
		}
		slices.Sort(late)
		r := atMost(count(n, "conversation")+", p99 of what is added to a chunk's pause", Figure{float64(late[len(late)*99/100]), Nanos}, float64(50*time.Millisecond))
		used := after.CPU - before.CPU
		r.Note = fmt.Sprintf("hub: %.0f%% of a core, CPU per chunk %s, %s", 100*float64(used)/float64(wall), took(used/time.Duration(len(late))), Figure{float64(after.RSS), Bytes})
		results = append(results, r)
	}
	return results, nil
}

// talkers has n senders listen to chunks at the pace and gives how late each was.
func talkers(ctx context.Context, data string, n, chunks int) (late []time.Duration, wall time.Duration, err error) {
	said := strings.Repeat("word ", chunks)
	c := audience{
		socket: filepath.Join(data, "parley.sock"), n: n, said: said,
		script: fmt.Sprintf("/chunks %d\n/pace %d\n/say %s", chunks, pace.Milliseconds(), said),
	}
	began := time.Now()
	late, err = c.listen(ctx)
	if err == nil && len(late) == 0 {
		err = fmt.Errorf("no chunk came")
	}
	return late, time.Since(began), err
}

// audience are people who each begin a turn and listen to it.
type audience struct {
	socket string
	n      int
	script string
	said   string // what the script says
}

// due is when somebody begins. Nobody begins a thousand turns in one instant; the
// row tasks spreads its own alike.
func (c *audience) due(i int) time.Duration {
	return time.Duration(i) * time.Second / time.Duration(c.n)
}

func (c *audience) turn(i int) *wire.Turn {
	return &wire.Turn{Agent: "parley", Sender: new(fmt.Sprintf("sender-%d-%d", c.n, i)), Content: c.script}
}

// ear is what one of them has heard.
type ear struct {
	text []byte
	last time.Time
	late []time.Duration
	over bool
}

// hear takes one step of the run in.
func (e *ear) hear(c *audience, ev *wire.StreamEvent, now time.Time) error {
	if end := ev.GetEnd(); end != nil {
		if e.over = true; end.GetError() != "" || strings.TrimSpace(string(e.text)) != strings.TrimSpace(c.said) {
			return fmt.Errorf("a turn ended with %q after %d of %d bytes", end.GetError(), len(e.text), len(c.said))
		}
	}
	chunk := ev.GetChunk()
	if chunk == nil {
		return nil
	}
	e.text = append(e.text, chunk.GetContent()...)
	if !e.last.IsZero() {
		e.late = append(e.late, max(0, now.Sub(e.last)-pace))
	}
	e.last = now
	return nil
}
