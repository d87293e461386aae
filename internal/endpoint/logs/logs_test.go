package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley.internal/client/kenny"
	wire "parley.internal/protocol/kenny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tunnel is a queue of a certain size.
type tunnel struct {
	mu   sync.Mutex
	free int
	got  []string
}

func (t *tunnel) Free() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.free
}

func (t *tunnel) PushLog(r kenny.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free == 0 {
		return errors.New("full")
	}
	t.free--
	t.got = append(t.got, r.Message)
	return nil
}

func (t *tunnel) set(free int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = free
}

func (t *tunnel) messages() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.got...)
}

func numbers(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("record %d", i))
	}
	return out
}

func TestTheRingDropsTheOldestAndCounts(t *testing.T) {
	r := NewRing()
	for _, m := range numbers(0, RingSize+10) {
		r.Add(kenny.Record{Message: m})
	}
	if r.Dropped() != 10 || r.Len() != RingSize {
		t.Errorf("%d dropped, %d kept", r.Dropped(), r.Len())
	}
	if first, _ := r.popOldest(); first.Message != "record 10" {
		t.Errorf("the oldest is %q", first.Message)
	}
}

func TestTheRingDrainsInOrderAndLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, tun := NewRing(), &tunnel{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Forward(ctx, r, tun)
		}()
		for _, m := range numbers(0, 100) {
			r.Add(kenny.Record{Message: m})
		}
		synctest.Wait()
		if len(tun.messages()) != 0 {
			t.Error("sent without a session")
		}
		tun.set(64)
		r.Wake()
		synctest.Wait()
		if d := cmp.Diff(numbers(0, 64-reserve), tun.messages()); d != "" {
			t.Errorf("d is %v; want no difference", d)
		}
		tun.set(1000)
		<-time.After(time.Second)
		synctest.Wait()
		if d := cmp.Diff(numbers(0, 100), tun.messages()); d != "" {
			t.Errorf("d is %v; want no difference", d)
		}
		cancel()
		<-done
	})
}

func TestAtMost64RecordsPerWakeUp(t *testing.T) {
	r, tun := NewRing(), &tunnel{free: 1000}
	for _, m := range numbers(0, 100) {
		r.Add(kenny.Record{Message: m})
	}
	drain(r, tun)
	if n := len(tun.messages()); n != 64 {
		t.Errorf("%d at once", n)
	}
}

func TestRecordsCarryLevelTargetAndFields(t *testing.T) {
	r := NewRing()
	log := slog.New(Tee(r.Handler(slog.LevelInfo)))
	log.Debug("too fine")
	log.With("call", "c1").WithGroup("tool").Warn("slow", "name", "fs_read", "took", 3*time.Second, "error", errors.New("odd"))
	rec, ok := r.popOldest()
	if !ok {
		t.Fatal("nothing in the ring")
	}
	want := map[string]any{"call": "c1", "tool.name": "fs_read", "tool.took": "3s", "tool.error": "odd"}
	if d := cmp.Diff(want, rec.Fields); d != "" || rec.Level != wire.LevelWarn || rec.Message != "slow" || rec.Target != "endpoint/logs" {
		t.Errorf("%+v\n%s", rec, d)
	}
	if r.Len() != 0 {
		t.Error("a record below the level was kept")
	}
}

func TestOneFilePerDayFourteenKept(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	l := OpenFile(dir)
	l.now = func() time.Time { return now }
	defer l.Close()
	log := slog.New(l.Handler(slog.LevelDebug))
	for range 20 {
		log.Info("hello")
		now = now.AddDate(0, 0, 1)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(names) != kept {
		t.Fatalf("%v, %v; want no error, len(names) to be %v", names, err, kept)
	}
	data, err := os.ReadFile(names[0])
	if filepath.Base(names[0]) != "endpoint-2026-06-07.log" || err != nil || !strings.Contains(string(data), "hello") {
		t.Errorf("%s %v %s; want no error, filepath.Base(names[0]) to be \"endpoint-2026-06-07.log\", \"hello\" in it", names[0], err, data)
	}
}

func TestLevelsAreSpelledAsOnTheWire(t *testing.T) {
	for _, l := range []wire.Level{wire.LevelError, wire.LevelWarn, wire.LevelInfo, wire.LevelDebug, wire.LevelTrace} {
		parsed, err := ParseLevel(string(l))
		if err != nil || level(parsed) != l {
			t.Errorf("%s became %s, %v", l, level(parsed), err)
		}
	}
	if _, err := ParseLevel("loud"); err == nil {
		t.Error("loud was accepted")
	}
}
