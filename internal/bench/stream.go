package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/bench/system"
	"parley.internal/internal/eventlog"
)

// streamRow: many tasks that stream at once, each watched.
func streamRow() Row {
	return Row{Name: "stream", What: "streams of 50 events/s, handed to the log as tasks do, each followed by one reader", Run: runStream}
}

// streamRate is about what a model says in a second.
const streamRate = 50

// streamMost is the delay the 99th of a hundred events may have.
const streamMost = float64(50 * time.Millisecond)

func runStream(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, n := range pick(env, []int{10, 100, 1_000}, []int{5, 50}) {
		env.say("%s", count(n, "stream"))
		r, err := streamStep(ctx, env, n)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	grow(results, perOp(results))
	return results, nil
}

// streaming is one run: so many streams, and what their readers saw.
type streaming struct {
	*journal
	span   time.Duration
	mu     sync.Mutex
	delays []time.Duration
	sent   atomic.Int64
	late   atomic.Int64
}

func streamStep(ctx context.Context, env *Env, streams int) (Result, error) {
	// A database of its own: readers begin at the beginning and must not meet the
	// events of an earlier step.
	dir, err := os.MkdirTemp(env.Dir, "step-*")
	if err != nil {
		return Result{}, err
	}
	j, err := openJournal(ctx, dir)
	if err != nil {
		return Result{}, err
	}
	defer j.close()
	system.SettleDisk()
	s := &streaming{journal: j, span: pick(env, 10*time.Second, time.Second)}
	started, cpu := time.Now(), system.CPUTime()
	var g errgroup.Group
	for i := range streams {
		stream := fmt.Sprintf("task.%d", i)
		done := make(chan int64, 1)
		g.Go(func() error {
			return s.write(ctx, stream, time.Duration(i)*time.Second/streamRate/time.Duration(streams), done)
		})
		g.Go(func() error { return s.follow(ctx, stream, done) })
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	spent := time.Since(started)
	slices.Sort(s.delays)
	r := atMost(count(streams, "stream")+": p99 delay", took(s.delays[len(s.delays)*99/100]), streamMost)
	kept := "kept up"
	if s.late.Load() > s.sent.Load()/100 {
		kept = "did NOT keep up"
	}
	used := system.CPUTime() - cpu
	r.cost = used / time.Duration(s.sent.Load())
	r.Note = fmt.Sprintf("%s, %s events/s, p50 %s, max %s, CPU %.2f of a core, every event read back in order", kept,
		thousands(int64(float64(s.sent.Load())/spent.Seconds())), took(s.delays[len(s.delays)/2]), took(s.delays[len(s.delays)-1]),
		used.Seconds()/spent.Seconds())
	return r, nil
}

// write makes events at the given rate, each with the time at which it was due, and
// hands over what there is whenever the log has taken what came before, as a task
// does with its text.
func (s *streaming) write(ctx context.Context, stream string, offset time.Duration, done chan<- int64) error {
	defer close(done)
	begun := time.Now().Add(offset)
	select {
	case <-time.After(offset):
	case <-ctx.Done():
		return ctx.Err()
	}
	tick := time.NewTicker(time.Second / streamRate)
	defer tick.Stop()
	landed := make(chan error, 1)
	tell := func(_ int64, err error) { landed <- err }
	made, all := int64(0), int64(s.span.Seconds()*streamRate)
	var waiting []eventlog.Event
	for away := false; made < all || away || len(waiting) > 0; {
		if len(waiting) > 0 && !away {
			s.AppendSoon(nil, stream, tell, waiting...)
			waiting, away = nil, true
		}
		select {
		case err := <-landed:
			if away = false; err != nil {
				return err
			}
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		before := made
		for due := time.Since(begun); made < all && time.Duration(made)*time.Second/streamRate <= due; made++ {
			at := begun.Add(time.Duration(made) * time.Second / streamRate)
			waiting = append(waiting, eventlog.Event{Kind: "delta", Data: binary.BigEndian.AppendUint64(make([]byte, 0, 48), uint64(at.UnixNano()))[:48]})
		}
		// More than two at once: the writer was held up.
		if made-before > 2 {
			s.late.Add(made - before)
		}
	}
	s.sent.Add(made)
	done <- made
	return nil
}

// follow reads the stream to its end and checks that nothing is missing.
func (s *streaming) follow(ctx context.Context, stream string, done <-chan int64) error {
	all := int64(s.span.Seconds() * streamRate)
	delays := make([]time.Duration, 0, all)
	want := int64(1)
	for ev, err := range s.Follow(ctx, stream, 0) {
		if err != nil {
			return err
		}
		if ev.Seq != want {
			return fmt.Errorf("event %d came where %d was due", ev.Seq, want)
		}
		want++
		delays = append(delays, time.Since(time.Unix(0, int64(binary.BigEndian.Uint64(ev.Data)))))
		if ev.Seq == all {
			break
		}
	}
	if made := <-done; made != int64(len(delays)) {
		return errors.New("the reader and the writer do not agree")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delays = append(s.delays, delays...)
	return nil
}
