package memory

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// ErrNoGrant says that there is no such grant.
var ErrNoGrant = errors.New("nothing of that name is shared")

// Grant lets an agent recall archives that are not of its own conversations with a sender.
type Grant struct {
	ID string
	// Agent and Sender are whose archives; Archive is one of them, empty for all.
	Agent, Sender, Archive string
	// ToAgent recalls them when it talks with ToSender.
	ToAgent, ToSender string
	// Maker gave it: it lasts as long as their right to what it shares.
	Maker            identity.Actor
	Created, Expires time.Time
}

const selectGrant = `SELECT id, agent, sender, archive, to_agent, to_sender, maker, created_at, expires_at FROM talk_grants`

func scanGrant(row store.Row) (g Grant, err error) {
	var maker string
	var created, expires int64
	err = row.Scan(&g.ID, &g.Agent, &g.Sender, &g.Archive, &g.ToAgent, &g.ToSender, &maker, &created, &expires)
	if isNoRows(err) {
		return g, ErrNoGrant
	}
	g.Created, g.Expires = store.Time(created), store.Time(expires)
	if err == nil {
		err = json.Unmarshal([]byte(maker), &g.Maker)
	}
	return g, err
}

// AddGrant stores a grant and names it.
func (m *Memory) AddGrant(ctx context.Context, g Grant) (Grant, error) {
	g.ID, g.Created = ids.New(), time.Now().UTC().Truncate(time.Microsecond)
	maker, err := json.Marshal(g.Maker)
	if err != nil {
		return g, err
	}
	return g, m.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO talk_grants (id, agent, sender, archive, to_agent, to_sender, maker, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, g.ID, g.Agent, g.Sender, g.Archive, g.ToAgent, g.ToSender, string(maker), store.Micros(g.Created), store.Micros(g.Expires))
		return err
	})
}

// GetGrant finds one, or ErrNoGrant.
func (m *Memory) GetGrant(ctx context.Context, id string) (g Grant, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		g, err = scanGrant(tx.QueryRow(selectGrant+` WHERE id = ?`, id))
		return err
	})
	return g, err
}

// DeleteGrant takes one back, at once.
func (m *Memory) DeleteGrant(ctx context.Context, id string) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM talk_grants WHERE id = ?`, id)
		return err
	})
}

// Grants lists those that have not ended, oldest first.
func (m *Memory) Grants(ctx context.Context) ([]Grant, error) {
	return m.grants(ctx, ` WHERE expires_at > ? ORDER BY created_at, id`, store.Micros(time.Now()))
}

// GrantsFor lists what an agent may recall of others when it talks with a sender.
func (m *Memory) GrantsFor(ctx context.Context, agent, sender string) ([]Grant, error) {
	return m.grants(ctx, ` WHERE to_agent = ? AND to_sender = ? AND expires_at > ? ORDER BY created_at, id`, agent, sender, store.Micros(time.Now()))
}

func (m *Memory) grants(ctx context.Context, where string, args ...any) (list []Grant, err error) {
	err = m.db.Read(ctx, func(tx *store.Tx) error {
		return tx.Each(store.IntoBy(&list, scanGrant), selectGrant+where, args...)
	})
	return list, err
}
