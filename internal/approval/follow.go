package approval

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/store"
)

// followPage bounds what is read at once.
const followPage = 200

// follow is the inbox's one goroutine: it ends what is due and passes changes,
// made here or on another hub, to those who wait and watch. The bus only makes
// it look sooner.
func (in *Inbox) follow(ctx context.Context) {
	failing := false
	for {
		next, err := in.turn(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			in.opts.Logger.Error("the approval inbox cannot be read", "error", err)
		}
		failing = err != nil
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-in.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// turn looks once and returns how long nothing is due.
func (in *Inbox) turn(ctx context.Context) (time.Duration, error) {
	next := in.opts.Recheck
	due, err := in.nextDue(ctx)
	if err != nil {
		return next, err
	}
	if !due.IsZero() {
		if !time.Now().Before(due) {
			if _, err := in.resolveAll(ctx, Outcome{State: StateExpired}, `expires_at <= ?`, store.Micros(time.Now())); err != nil {
				return next, err
			}
		} else {
			next = min(next, time.Until(due))
		}
	}
	return max(next, time.Millisecond), errors.Join(in.digest(ctx, time.Now()), in.dispatch(ctx))
}

func (in *Inbox) nextDue(ctx context.Context) (time.Time, error) {
	var due int64
	err := in.db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT coalesce(min(expires_at), 0) FROM approvals WHERE state = 'pending'`).Scan(&due)
	})
	return store.Time(due), err
}

// dispatch passes on every change after in.seen, in the order of the clock.
func (in *Inbox) dispatch(ctx context.Context) error {
	for {
		var changed []Item
		err := in.db.Read(ctx, func(tx *store.Tx) (err error) {
			changed, err = items(tx, ` WHERE changed > ? ORDER BY changed LIMIT ?`, in.seen, followPage)
			return err
		})
		if err != nil {
			return err
		}
		for _, item := range changed {
			if item.Outcome.State != StatePending {
				in.decided(item)
			}
			in.show(item)
			in.seen = item.changed
		}
		if len(changed) < followPage {
			return nil
		}
	}
}

// show passes a change to everybody who watches.
func (in *Inbox) show(item Item) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for f := range in.feeds {
		f.push(item)
	}
}
