package embed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/wsconn"
	"parley.internal/protocol/kibitz"
)

// What can be wrong with an origin.
var (
	// ErrBadOrigin: it is none, or one that must not be listed.
	ErrBadOrigin = errors.New("not an origin that can be listed")
	// ErrNotListed: there is nothing to take back.
	ErrNotListed = errors.New("this origin is not listed")
)

// mostOrigins is how many may be listed on the page; more are for the settings.
const mostOrigins = 500

// freshFor is how long the list is believed before it is read again.
const freshFor = time.Second

// Origin is one website.
type Origin struct {
	Origin string
	// By is who listed it; nobody did if the settings say so.
	By string
	At time.Time
}

// Options is what a list is made from.
type Options struct {
	DB    *store.DB
	Trail audit.Recorder
	// Always are those of the hub's settings.
	Always []string
}

// Origins is the list of a hub.
type Origins struct {
	db     *store.DB
	trail  audit.Recorder
	always map[string]bool

	mu     sync.Mutex
	listed map[string]bool
	read   time.Time
}

// New checks the settings.
func New(o Options) (*Origins, error) {
	out := &Origins{db: o.DB, trail: o.Trail, always: map[string]bool{}}
	for _, text := range o.Always {
		origin, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("rooms.origins: %q: %w", text, err)
		}
		out.always[origin] = true
	}
	return out, nil
}

// Parse is an origin in its normal form, or why it cannot be listed.
func Parse(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return "", fmt.Errorf("%w: write it as https://app.example.org", ErrBadOrigin)
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && wsconn.IsLoopbackHost(u.Hostname()):
	default:
		return "", fmt.Errorf("%w: it must be https, or http on this computer", ErrBadOrigin)
	}
	origin, err := kibitz.Origin(u.String())
	if err != nil || strings.ContainsAny(origin, "*, ") {
		return "", fmt.Errorf("%w: write it as https://app.example.org", ErrBadOrigin)
	}
	return origin, nil
}

// Listed tells whether the pages of an origin may show rooms. What is no origin is not.
func (o *Origins) Listed(ctx context.Context, text string) (bool, error) {
	origin, err := Parse(text)
	if err != nil {
		return false, nil //nolint:nilerr // "null" and the like are simply not listed
	}
	if o.always[origin] {
		return true, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.listed == nil || time.Since(o.read) >= freshFor {
		all, err := o.stored(ctx)
		if err != nil {
			return false, err
		}
		o.listed, o.read = map[string]bool{}, time.Now()
		for _, one := range all {
			o.listed[one.Origin] = true
		}
	}
	return o.listed[origin], nil
}

// List is all of them, those of the settings first.
func (o *Origins) List(ctx context.Context) ([]Origin, error) {
	var out []Origin
	for origin := range o.always {
		out = append(out, Origin{Origin: origin})
	}
	slices.SortFunc(out, func(a, b Origin) int { return strings.Compare(a.Origin, b.Origin) })
	stored, err := o.stored(ctx)
	return append(out, stored...), err
}

func (o *Origins) stored(ctx context.Context) ([]Origin, error) {
	var out []Origin
	err := o.db.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(func(row *sql.Rows) error {
			var one Origin
			var at int64
			err := row.Scan(&one.Origin, &one.By, &at)
			one.At = store.Time(at)
			out = append(out, one)
			return err
		}, `SELECT origin, by_whom, at FROM embed_origins ORDER BY origin`)
	})
	return out, err
}

// Add lists an origin.
func (o *Origins) Add(ctx context.Context, who identity.Actor, text string) (Origin, error) {
	origin, err := Parse(text)
	if err != nil {
		return Origin{}, err
	}
	one := Origin{Origin: origin, By: who.String(), At: time.Now()}
	err = o.db.Write(ctx, func(tx *store.Tx) error {
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM embed_origins`).Scan(&n); err != nil {
			return err
		}
		if n >= mostOrigins {
			return fmt.Errorf("%w: %d are listed already", ErrBadOrigin, n)
		}
		_, err := tx.Exec(`INSERT INTO embed_origins (origin, by_whom, at) VALUES (?, ?, ?) ON CONFLICT (origin) DO NOTHING`, origin, one.By, store.Micros(one.At))
		if err != nil {
			return err
		}
		return o.trail.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.OriginListed, Target: origin, Detail: who.Trace()})
	})
	o.forget()
	return one, err
}

// Remove takes an origin off the list. Those of the settings stay.
func (o *Origins) Remove(ctx context.Context, who identity.Actor, origin string) error {
	err := o.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM embed_origins WHERE origin = ?`, origin)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotListed
		}
		return o.trail.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.OriginUnlisted, Target: origin, Detail: who.Trace()})
	})
	o.forget()
	return err
}

// forget makes this hub read the list again at once; others do within a second.
func (o *Origins) forget() {
	o.mu.Lock()
	o.listed = nil
	o.mu.Unlock()
}
