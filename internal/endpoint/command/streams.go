package command

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// streams are what a program prints. They are pipes of our own, not os/exec's,
// because a program left in the background may go on printing: it would be ended by
// a pipe that nobody reads. What it prints then is read and dropped until it ends.
type streams struct {
	ours, theirs []*os.File
	sinks        []io.Writer
	copies       sync.WaitGroup
	done         chan struct{}
}

func newStreams(cmd *exec.Cmd, stdout, stderr io.Writer) (*streams, error) {
	s := &streams{sinks: []io.Writer{stdout, stderr}, done: make(chan struct{})}
	for range s.sinks {
		r, w, err := os.Pipe()
		if err != nil {
			s.abandon()
			return nil, err
		}
		s.ours, s.theirs = append(s.ours, r), append(s.theirs, w)
	}
	cmd.Stdout, cmd.Stderr = s.theirs[0], s.theirs[1]
	return s, nil
}

// copy reads both until whoever holds them has ended.
func (s *streams) copy() {
	for i, r := range s.ours {
		_ = s.theirs[i].Close() // the program has its own
		s.copies.Go(func() {
			_, _ = io.Copy(s.sinks[i], r)
			_ = r.Close()
		})
	}
	go func() {
		s.copies.Wait()
		close(s.done)
	}()
}

// wait waits until everything was read, as long as somebody is likely to have
// written it.
func (s *streams) wait(ctx context.Context) {
	timer := time.NewTimer(pipeWait)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// close ends the reading; everything that could write is gone.
func (s *streams) close() {
	for _, r := range s.ours {
		_ = r.Close()
	}
	<-s.done
}

// abandon is close for streams nobody was started with.
func (s *streams) abandon() {
	for _, f := range append(s.ours, s.theirs...) {
		_ = f.Close()
	}
}
