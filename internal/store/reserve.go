package store

import (
	"io"
	"math/rand/v2"
	"os"
	"time"
)

// reserve is a file beside the database that only takes room. A full disk would stop
// deletions too, since they are written to SQLite's log first; so the file goes when the
// disk is full, and what makes room still can. Until it is back, all other writes are
// refused as the full disk would refuse them: they must not use up what it left. Only the
// writer uses it.
type reserve struct {
	path  string
	size  int64 // 0 is a database without one
	there bool
	// lent says that it was given up, and not only missing since the start.
	lent  bool
	tried time.Time
}

const reserveRetry = time.Second

// keep makes the file if it is not there, but does not try too often.
func (r *reserve) keep(now time.Time) {
	if r.size == 0 || r.there || now.Sub(r.tried) < reserveRetry {
		return
	}
	r.tried = now
	if r.there = r.fill() == nil; r.there {
		r.lent = false
	}
}

// fill writes what no file system can make smaller. What is there already is right.
func (r *reserve) fill() error {
	if info, err := os.Stat(r.path); err == nil && info.Size() == r.size {
		return nil
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), r.size)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(r.path)
	}
	return err
}

// giveUp makes room, once.
func (r *reserve) giveUp(now time.Time) bool {
	if !r.there || os.Remove(r.path) != nil {
		return false
	}
	r.there, r.lent, r.tried = false, true, now
	return true
}
