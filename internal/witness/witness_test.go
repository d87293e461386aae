package witness_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley.internal/internal/audit"
	"parley.internal/internal/witness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// checkpoint is one over an entry, told from others by its hash.
func checkpoint(seq int64) audit.Checkpoint {
	cp := audit.Checkpoint{Seq: seq, At: time.UnixMicro(seq).UTC(), PublicKey: make(ed25519.PublicKey, ed25519.PublicKeySize), Signature: []byte{1}}
	cp.Hash[0], cp.Hash[1], cp.Hash[2] = byte(seq), byte(seq>>8), 1
	return cp
}

// shelf takes checkpoints, or not.
type shelf struct {
	mu     sync.Mutex
	broken error
	seqs   []int64
	asked  int
}

func (s *shelf) Put(_ context.Context, cps []audit.Checkpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.broken != nil {
		return s.broken
	}
	for _, cp := range cps {
		s.seqs = append(s.seqs, cp.Seq)
	}
	return nil
}

func (s *shelf) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *shelf) has() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int64{}, s.seqs...)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestAWitnessThatIsAwayIsAskedAgainAndHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, here := &shelf{broken: errors.New("no route to host")}, &shelf{}
		k := witness.New(quiet(), witness.Target{Name: "away", Put: away.Put}, witness.Target{Name: "here", Put: here.Put, All: true})
		for seq := range int64(1500) {
			k.Offer(checkpoint(seq + 1))
		}
		synctest.Wait()
		if got := len(here.has()); got != 1500 {
			t.Errorf("the witness that is here has %d of 1500", got)
		}
		<-time.After(time.Hour)
		state := k.States()[0]
		if state.Waiting != 1000 || state.Failures < 10 || state.Failures > 30 || state.Error != "no route to host" {
			t.Errorf("after an hour without a route: %+v", state)
		}
		away.set(nil)
		<-time.After(10 * time.Minute)
		synctest.Wait()
		got := away.has()
		if len(got) != 1000 || got[999] != 1500 {
			t.Errorf("once it is back it has %d, the last of them %v", len(got), got[max(len(got)-1, 0):])
		}
		if state := k.States()[0]; state.Waiting != 0 || state.Error != "" || state.Last.Seq != 1500 {
			t.Errorf("once it is back: %+v", state)
		}
		_ = k.Close()
	})
}

func TestClosingKeepsTheLastCheckpointAndWaitsForNobodyWhoHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &shelf{broken: errors.New("not yet")}
		release := make(chan struct{})
		hangs := func(context.Context, []audit.Checkpoint) error { <-release; return nil }
		k := witness.New(quiet(), witness.Target{Name: "broken", Put: broken.Put}, witness.Target{Name: "hangs", Put: hangs})
		k.Offer(checkpoint(1))
		synctest.Wait()
		broken.set(nil)
		began := time.Now()
		_ = k.Close()
		if got := broken.has(); len(got) != 1 {
			t.Errorf("the last attempt of a hub that stops: %v", got)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("closing waited %v for a witness that hangs", took)
		}
		close(release)
		synctest.Wait()
	})
}

func TestAFileOfCheckpointsIsItsOwnersAndSurvivesAHalfWrittenLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit", "checkpoints.jsonl")
	file := witness.File(path)
	if kept, err := file.Read(); err != nil || len(kept.Checkpoints) != 0 || kept.Where != path {
		t.Errorf("a file that is not there: %+v, %v", kept, err)
	}
	put := func(cps ...audit.Checkpoint) {
		t.Helper()
		if err := file.Append(t.Context(), cps); err != nil {
			t.Fatal(err)
		}
	}
	put(checkpoint(1), checkpoint(2))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"checkpoint":{"at":3,"ha`)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	put(checkpoint(4))
	kept, err := file.Read()
	if err != nil || len(kept.Checkpoints) != 3 || kept.Checkpoints[2].Seq != 4 || kept.Checkpoints[2].Hash != checkpoint(4).Hash {
		t.Errorf("behind a half-written line: %+v, %v", kept, err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want it to be its owner's only", info.Mode(), err)
	}
}
