package bench

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"parley.internal/internal/bench/system"
)

// disk is the bare disk: append a little, flush, again.
type disk struct {
	f *os.File
}

// diskRecord is about what one small row is in a log.
const diskRecord = 256

func openDisk(dir string) (*disk, error) {
	f, err := os.OpenFile(filepath.Join(dir, "limit"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &disk{f}, err
}

func (d *disk) close() { _ = d.f.Close() }

// appends counts appends, each flushed before the next, for that long.
func (d *disk) appends(span time.Duration) (n int64, spent time.Duration, err error) {
	record := make([]byte, diskRecord)
	started := time.Now()
	for time.Since(started) < span {
		if _, err := d.f.Write(record); err != nil {
			return n, time.Since(started), err
		}
		if err := system.Flush(d.f); err != nil {
			return n, time.Since(started), err
		}
		n++
	}
	return n, time.Since(started), nil
}

// writing is one way to write durably, done by several at once.
type writing struct {
	inFlight int
	// write does one durable write; who is the number of the writer.
	write func(who int) error
	// all, if set, has so many write for that long in another way.
	all func(span time.Duration) (int64, time.Duration, error)
	// cpu is the time used so far by what does the writing; nil is this process.
	// Where it is another one, what this one used is told apart.
	cpu func() time.Duration
}

func (w writing) run(span time.Duration) (int64, time.Duration, error) {
	if w.all != nil {
		return w.all(span)
	}
	var n atomic.Int64
	var g errgroup.Group
	started := time.Now()
	for who := range w.inFlight {
		g.Go(func() error {
			for time.Since(started) < span {
				if err := w.write(who); err != nil {
					return err
				}
				n.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	return n.Load(), time.Since(started), err
}

// against measures a way of writing and the bare disk in turns.
func (w writing) against(env *Env, d *disk, name string, least float64) (Result, error) {
	env.say("%s", name)
	used := w.cpu
	if used == nil {
		used = system.CPUTime
	}
	var n [2]int64
	var spent [2]time.Duration
	var cpu, own time.Duration
	for range pick(env, 6, 2) {
		span := pick(env, 500*time.Millisecond, 50*time.Millisecond)
		a, t, err := d.appends(span)
		if err != nil {
			return Result{}, err
		}
		n[0], spent[0] = n[0]+a, spent[0]+t
		before, ownBefore := used(), system.CPUTime()
		b, t, err := w.run(span)
		if err != nil {
			return Result{}, err
		}
		own += system.CPUTime() - ownBefore
		cpu += used() - before
		n[1], spent[1] = n[1]+b, spent[1]+t
	}
	r := compare(name, rate(float64(n[1]), spent[1]), rate(float64(n[0]), spent[0]), least)
	if cpu > 0 && n[1] > 0 {
		r.cost = cpu / time.Duration(n[1])
		r.Note = "CPU per write: " + took(r.cost).String()
		if w.cpu != nil {
			r.Note += ", of the client " + took(own/time.Duration(n[1])).String()
		}
	}
	return r, nil
}
