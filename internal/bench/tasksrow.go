package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/approval"
	"parley.internal/internal/bench/system"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/identity"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/internal/work"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/viber"
)

// tasksRow: whole tasks, from the model's token to whoever watches.
func tasksRow() Row {
	return Row{Name: "tasks", What: "tasks of 50 tokens/s, numbered, on disk and each watched by one reader", Run: runTasks}
}

func runTasks(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, n := range pick(env, []int{10, 100, 1_000}, []int{5, 50}) {
		env.say("%s", count(n, "task"))
		r, err := tasksStep(ctx, env, n)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	grow(results, perOp(results))
	return results, nil
}

// metronome is a model that says the time, fifty times a second. A token that
// waits because nobody takes it counts as late.
type metronome struct{ tokens int }

func (metronome) Name() string { return "metronome" }

// Get and Resolve make it everybody's agent and model.
func (m metronome) Get(name string) (*brain.Agent, error) { return &brain.Agent{Name: name}, nil }
func (m metronome) Resolve(string) (brain.Model, error)   { return brain.Model{Provider: m}, nil }

// Stream implements model.Provider.
func (m metronome) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		next := newTicks(time.Now())
		var word [24]byte
		for range m.tokens {
			// Only this: what the model itself needs counts as ours.
			if <-next.timer.C; ctx.Err() != nil {
				yield(model.Event{}, context.Cause(ctx))
				return
			}
			next.set(time.Now())
			text := append(strconv.AppendInt(word[:0], time.Now().UnixNano(), 10), ' ')
			if !yield(model.Event{Kind: model.Text, Text: string(text)}, nil) {
				return
			}
		}
		yield(model.Event{Kind: model.Done, Finish: model.FinishStop, Usage: model.Usage{Completion: int64(m.tokens)}}, nil)
	}
}

// ticks come fifty times a second, on whole milliseconds, as the offline model's
// chunks do: models that each wake the machine at a moment of their own cost more
// than what is measured.
type ticks struct {
	timer *time.Timer
	due   time.Time
}

func newTicks(now time.Time) *ticks {
	first := time.Second/streamRate - time.Duration(now.UnixNano())%time.Millisecond
	return &ticks{timer: time.NewTimer(first), due: now.Add(first)}
}

// set sets the next. What was missed is not made up for.
func (t *ticks) set(now time.Time) {
	const every = time.Second / streamRate
	if t.due = t.due.Add(every); now.After(t.due) {
		t.due = t.due.Add(now.Sub(t.due).Truncate(every))
	}
	t.timer.Reset(t.due.Sub(now))
}

// tasking is one run: an engine of its own, and what the readers saw.
type tasking struct {
	*work.Work
	who    identity.Actor
	tokens int
	mu     sync.Mutex
	delays []time.Duration
	events int
}

func tasksStep(ctx context.Context, env *Env, n int) (Result, error) {
	dir, err := os.MkdirTemp(env.Dir, "step-*")
	if err != nil {
		return Result{}, err
	}
	s := &tasking{tokens: pick(env, 10, 1) * streamRate, who: identity.Local(identity.Person{ID: "bench", Name: "bench"}).Narrow(identity.Scopes{})}
	stop, err := s.open(ctx, dir, n)
	if err != nil {
		return Result{}, err
	}
	defer stop()
	system.SettleDisk()
	started, cpu := time.Now(), system.CPUTime()
	var g errgroup.Group
	for i := range n {
		g.Go(func() error {
			// Nobody submits a thousand tasks in one instant.
			select {
			case <-time.After(time.Duration(i) * time.Second / time.Duration(n)):
			case <-ctx.Done():
				return ctx.Err()
			}
			return s.watch(ctx, i)
		})
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	spent, used := time.Since(started), system.CPUTime()-cpu
	slices.Sort(s.delays)
	r := atMost(count(n, "task")+": p99 from the model to the reader", took(s.delays[len(s.delays)*99/100]), streamMost)
	r.cost = used / time.Duration(len(s.delays))
	r.Note = fmt.Sprintf("%s tokens/s in %s events/s, p50 %s, max %s, CPU %.2f of a core, every token on disk in order",
		thousands(int64(float64(len(s.delays))/spent.Seconds())), thousands(int64(float64(s.events)/spent.Seconds())),
		took(s.delays[len(s.delays)/2]), took(s.delays[len(s.delays)-1]), used.Seconds()/spent.Seconds())
	return r, nil
}

// open makes an engine with everything it needs.
func (s *tasking) open(ctx context.Context, dir string, n int) (stop func(), err error) {
	db, err := store.Open(ctx, filepath.Join(dir, "parley.db"), store.Options{})
	if err != nil {
		return nil, err
	}
	b := bus.NewLocal()
	leases, err := lease.Join(ctx, db, "bench", lease.Options{Alone: true})
	if err != nil {
		return nil, errors.Join(err, b.Close(), db.Close())
	}
	inbox, err := approval.Open(ctx, db, b, approval.Options{})
	if err != nil {
		return nil, errors.Join(err, leases.Close(ctx), b.Close(), db.Close())
	}
	quiet := slog.New(slog.DiscardHandler)
	m := metronome{s.tokens}
	s.Work, err = work.New(work.Deps{
		DB: db, Log: eventlog.New(db, b, quiet), Leases: leases, Bus: b, Agents: m, Models: m, Inbox: inbox, Workspace: workspace.Always(dir), Logger: quiet,
		Limits: work.Limits{RunningPerPrincipal: n, RunningPerHub: n, SubmitsPerMinute: 60 * n, SubmitBurst: n},
	})
	stop = func() {
		if s.Work != nil {
			_ = s.Close(ctx)
		}
		_ = errors.Join(inbox.Close(), leases.Close(context.WithoutCancel(ctx)), b.Close(), db.Close())
	}
	if err != nil {
		stop()
	}
	return stop, err
}

// watch submits one task, reads it to its end and checks that nothing is missing.
func (s *tasking) watch(ctx context.Context, i int) error {
	sub, err := s.Submit(ctx, s.who, work.SubmitRequest{
		Key: strconv.Itoa(i), Submit: &viber.TaskSubmit{Goal: "tell the time", Options: &viber.TaskOptions{StreamDeltas: true}},
	})
	if err != nil {
		return err
	}
	delays := make([]time.Duration, 0, s.tokens)
	var text strings.Builder
	seq, events := int64(0), 0
	for ev, err := range sub.Stream.Events(ctx) {
		if err != nil {
			return err
		}
		now := time.Now()
		if seq++; ev.Ref().Seq != seq {
			return fmt.Errorf("event %d came where %d was due", ev.Ref().Seq, seq)
		}
		switch ev := ev.(type) {
		case *viber.TaskDelta:
			events++
			text.WriteString(ev.Text)
			for word := range strings.FieldsSeq(ev.Text) {
				at, err := strconv.ParseInt(word, 10, 64)
				if err != nil {
					return err
				}
				delays = append(delays, now.Sub(time.Unix(0, at)))
			}
		case *viber.TaskCompleted:
			if ev.Result.Text != text.String() {
				return errors.New("the deltas are not the result")
			}
		case *viber.TaskError:
			return errors.New(ev.Error.Message)
		}
	}
	if len(delays) != s.tokens {
		return fmt.Errorf("%d tokens of %d came", len(delays), s.tokens)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delays = append(s.delays, delays...)
	s.events += events
	return nil
}
