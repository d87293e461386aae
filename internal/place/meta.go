package place

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"strconv"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/board"
)

// saltLife is how long anonymised ids stay linkable.
const saltLife = 30 * 24 * time.Hour

// meta is the little the place remembers about itself, shared by all its hubs.
type meta struct {
	mu      sync.Mutex
	salt    []byte
	checked time.Time
	since   time.Time
}

func getMeta(tx *store.Tx, name string) (string, error) {
	var value string
	err := tx.QueryRow(`SELECT value FROM place_meta WHERE name = ?`, name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func setMeta(tx *store.Tx, name, value string) error {
	_, err := tx.Exec(`INSERT INTO place_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

func newSalt(now time.Time) string {
	return strconv.FormatInt(store.Micros(now), 10) + ":" + hex.EncodeToString(randomBytes(32))
}

func randomBytes(n int) []byte {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails
	return raw
}

// loadMeta reads what is remembered and makes what is missing.
func (p *Place) loadMeta(ctx context.Context) error {
	now := p.now()
	var since string
	err := p.write(ctx, func(tx *store.Tx) error {
		for name, value := range map[string]string{"salt": newSalt(now), "since": strconv.FormatInt(store.Micros(now), 10), "rolled": "0"} {
			if _, err := tx.Exec(`INSERT INTO place_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, name, value); err != nil {
				return err
			}
		}
		var err error
		since, err = getMeta(tx, "since")
		return err
	})
	if err != nil {
		return err
	}
	us, err := strconv.ParseInt(since, 10, 64)
	p.remember.since = store.Time(us)
	return err
}

// salt is the present one; it is looked up now and then, since another hub may
// have renewed it.
func (p *Place) salt(tx *store.Tx) ([]byte, error) {
	m := &p.remember
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := p.now(); m.salt != nil && now.Sub(m.checked).Abs() < time.Second {
		return m.salt, nil
	}
	text, err := getMeta(tx, "salt")
	if err != nil {
		return nil, err
	}
	m.salt, m.checked = []byte(text), p.now()
	return m.salt, nil
}

// RenewSalt makes all anonymised ids new ones.
func (p *Place) RenewSalt(ctx context.Context, who Visitor) error {
	if err := who.mustRun(); err != nil {
		return err
	}
	err := p.write(ctx, func(tx *store.Tx) error {
		if err := setMeta(tx, "salt", newSalt(p.now())); err != nil {
			return err
		}
		return p.d.Trail.AppendTx(tx, audit.Entry{Actor: who.Actor.String(), Action: audit.PlaceSaltRenewed, Target: p.id})
	})
	p.remember.mu.Lock()
	p.remember.salt = nil
	p.remember.mu.Unlock()
	return err
}

// oldSalt renews the salt when its time is over.
func (p *Place) oldSalt(ctx context.Context) error {
	var text string
	err := p.read(ctx, func(tx *store.Tx) (err error) {
		text, err = getMeta(tx, "salt")
		return err
	})
	if err != nil {
		return err
	}
	var made int64
	for i := 0; i < len(text) && text[i] != ':'; i++ {
		made = made*10 + int64(text[i]-'0')
	}
	if p.now().Sub(store.Time(made)) < saltLife {
		return nil
	}
	return p.RenewSalt(ctx, Visitor{Actor: identity.Hub()})
}

// anonymous is a function that hides ids.
func (p *Place) anonymous(tx *store.Tx) (func(string) string, error) {
	salt, err := p.salt(tx)
	return func(id string) string { return board.Anonymize(salt, id) }, err
}
