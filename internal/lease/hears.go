package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/pause"
	"parley.internal/internal/store"
)

// Hubs on one database must hear each other: an owner is asked over the bus. One that
// never can is refused while others live, and one that lost its bus alone gives way.

// ApartError says that another hub lives on the database, and that the two of them could
// not hear each other.
type ApartError struct{ Hub string }

func (e *ApartError) Error() string {
	return fmt.Sprintf("the hub %s uses this database, and this hub could not hear it: give all of them the same --nats servers, or stop the other one", e.Hub)
}

// patience is how long a hub that cannot hear the others waits for that to end.
const patience = 10 * time.Second

// enter joins. What died a moment ago looks alive until its time is over.
func (l *Leases) enter(ctx context.Context) error {
	for late := time.Now().Add(l.opts.TTL + l.opts.Renew); ; {
		err := l.join(ctx)
		if _, apart := errors.AsType[*ApartError](err); !apart || time.Now().After(late) {
			return err
		}
		if err := pause.For(ctx, l.opts.Renew); err != nil {
			return err
		}
	}
}

// meet refuses to join hubs that this one cannot hear.
func (l *Leases) meet(tx *store.Tx, now int64) error {
	if tx.Dialect() != store.SQLite { // two that start at once would not see each other
		if _, err := tx.Exec(`LOCK TABLE hubs IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
	}
	var other string
	err := tx.QueryRow(`SELECT id FROM hubs WHERE expires_at > ? AND (apart = 1 OR ? = 1) AND id <> ? ORDER BY id LIMIT 1`, now, l.apart(), l.opts.Former).Scan(&other)
	switch {
	case isNoRows(err):
		return nil
	case err != nil:
		return err
	}
	return &ApartError{Hub: other}
}

func (l *Leases) apart() int {
	if l.opts.Apart {
		return 1
	}
	return 0
}

// listen notes whether this hub hears the others, and gives way once it has not for long
// although somebody else does. While nobody does, every hub keeps what it has.
func (l *Leases) listen(tx *store.Tx, now int64) error {
	switch {
	case l.opts.Hears == nil || l.opts.Hears() == nil:
		l.deafSince = 0
	case l.deafSince == 0:
		l.deafSince = now
	}
	if _, err := tx.Exec(`UPDATE hubs SET cut_off = ? WHERE id = ? AND cut_off <> ?`, l.deafSince, l.id, l.deafSince); err != nil {
		return err
	}
	if l.deafSince == 0 || now-l.deafSince < patience.Microseconds() {
		return nil
	}
	var others int
	err := tx.QueryRow(`SELECT count(*) FROM hubs WHERE expires_at > ? AND id <> ? AND cut_off = 0`, now, l.id).Scan(&others)
	if err == nil && others > 0 {
		l.giveWay.Do(func() { close(l.cutOff) })
	}
	return err
}

// CutOff is closed when this hub alone has heard nobody for long: it should stop, so that
// the others take over what it has.
func (l *Leases) CutOff() <-chan struct{} { return l.cutOff }
