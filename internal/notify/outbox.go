package notify

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"parley.internal/internal/store"
	"parley.internal/internal/wake"
)

const (
	// maxTries bounds how often a target that does not answer is asked again.
	maxTries = 6
	// claim is how long one hub has to tell a notice before another may try.
	claim = time.Minute
	// look is how often the store is asked for what other hubs left behind.
	look = 15 * time.Second
	// keep is how long a told notice is remembered after it expired.
	keep = 24 * time.Hour
)

// Notices tells what needs people.
type Notices struct {
	deps Deps
	push *pushKey
	wake wake.Bell
	stop context.CancelFunc
	done sync.WaitGroup
}

// Open starts telling. Close ends it.
func Open(ctx context.Context, deps Deps) (*Notices, error) {
	key, err := newPushKey(deps.Seed)
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	n := &Notices{deps: deps, push: key, wake: wake.New(), stop: stop}
	n.done.Go(func() { n.questions(run) })
	n.done.Go(func() { n.deliver(run) })
	return n, nil
}

// Close stops telling; what was not told is told by the next start.
func (n *Notices) Close() error {
	n.stop()
	n.done.Wait()
	return nil
}

// Tell puts a notice on its way to every target of its person. It is on disk
// when Tell returns.
func (n *Notices) Tell(ctx context.Context, note Notice) error {
	if note.Created.IsZero() {
		note.Created = time.Now()
	}
	if note.Due.IsZero() {
		note.Due = time.Now()
	}
	if note.Expires.IsZero() {
		note.Expires = note.Created.Add(keep)
	}
	person := note.Person
	if person == "" {
		owner, err := n.deps.Owner(ctx)
		if err != nil {
			return err
		}
		person = owner
	}
	targets, err := n.targets(ctx, person)
	if err != nil || len(targets) == 0 {
		return err
	}
	body, err := note.encode()
	if err != nil {
		return err
	}
	err = n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		for _, t := range targets {
			_, err := tx.Exec(`INSERT INTO notices (id, target, body, due, expires_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id, target) DO NOTHING`,
				note.ID, t, body, store.Micros(note.Due), store.Micros(note.Expires))
			if err != nil {
				return err
			}
		}
		return nil
	})
	n.wake.Ring()
	return err
}

// withdraw forgets what was not told yet.
func (n *Notices) withdraw(ctx context.Context, ids ...string) error {
	return n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		for _, id := range ids {
			if _, err := tx.Exec(`UPDATE notices SET done = 1 WHERE id = ? AND done = 0`, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// deliver tells what is due, one at a time, until ctx ends.
func (n *Notices) deliver(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for n.next(ctx) {
		}
		select {
		case <-n.wake:
		case <-tick.C:
			n.sweep(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// job is one notice for one target.
type job struct {
	target string
	tries  int64
	note   Notice
}

// next tells one notice and reports whether there was one.
func (n *Notices) next(ctx context.Context) bool {
	j, err := n.claim(ctx)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, sql.ErrNoRows) {
			n.deps.Logger.Warn("notices cannot be read", "error", err)
		}
		return false
	}
	err = n.send(ctx, j)
	if err != nil && ctx.Err() != nil {
		return false // another start, or hub, tells it
	}
	if err != nil {
		n.deps.Logger.Warn("a notice could not be told", "kind", j.note.Kind, "target", label(j.target), "try", j.tries, "error", err)
	}
	// What was told is ticked off even while the hub stops.
	if err := n.recordAttempt(context.WithoutCancel(ctx), j, err); err != nil {
		n.deps.Logger.Warn("a notice could not be ticked off", "error", err)
		return false
	}
	return true
}

// claim takes the notice that is due longest; for a while no other hub does.
func (n *Notices) claim(ctx context.Context) (j job, err error) {
	err = n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		now, body := time.Now(), ""
		err := tx.QueryRow(`UPDATE notices SET due = ?, tries = tries + 1 WHERE (id, target) = (
				SELECT id, target FROM notices WHERE done = 0 AND due <= ? AND expires_at > ? ORDER BY due LIMIT 1
			) AND done = 0 AND due <= ? RETURNING target, tries, body`,
			store.Micros(now.Add(claim)), store.Micros(now), store.Micros(now), store.Micros(now)).Scan(&j.target, &j.tries, &body)
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(body), &j.note)
	})
	return j, err
}

// recordAttempt ticks a notice off, or puts it off if it may still succeed.
func (n *Notices) recordAttempt(ctx context.Context, j job, failed error) error {
	return n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		if failed == nil || errors.Is(failed, errNever) || j.tries >= maxTries {
			_, err := tx.Exec(`UPDATE notices SET done = 1 WHERE id = ? AND target = ?`, j.note.ID, j.target)
			return err
		}
		again := time.Now().Add(time.Second << (2 * j.tries))
		_, err := tx.Exec(`UPDATE notices SET due = ? WHERE id = ? AND target = ? AND done = 0`, store.Micros(again), j.note.ID, j.target)
		return err
	})
}

// sweep forgets what is long over.
func (n *Notices) sweep(ctx context.Context) {
	err := n.deps.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM notices WHERE expires_at < ?`, store.Micros(time.Now().Add(-keep)))
		return err
	})
	if err != nil && ctx.Err() == nil {
		n.deps.Logger.Warn("old notices could not be removed", "error", err)
	}
}
