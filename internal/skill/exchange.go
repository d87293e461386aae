package skill

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/fit"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/meeting"
)

// Exchange is one skill on its way, seen from our side.
type Exchange struct {
	ID        string
	Agent     string
	Peer      string
	Place     string
	Side      meeting.ExchangeSide
	State     meeting.ExchangeState
	Relayed   bool
	Level     Level
	SkillID   string
	SkillName string
	Summary   string
	Tags      []string
	Format    string
	Hash      string
	// Opening is the offer or request that began it, Item the skill it brought.
	Opening string
	Item    string
	Reason  string
	Created time.Time
	Changed time.Time
	// Deadline is when the state ends by itself; zero for never.
	Deadline time.Time

	me, opened, accepting, content string
	provenance                     string
}

const exchangeColumns = `id, me, agent, peer, place, side, state, relayed, level, skill_id, skill_name, summary, format, hash,
	opening, opened, accepting, content, provenance, item, reason, created_at, changed_at, deadline, tags`

func scanExchange(row store.Row) (Exchange, error) {
	var e Exchange
	var relayed, created, changed, deadline int64
	var tags string
	err := row.Scan(&e.ID, &e.me, &e.Agent, &e.Peer, &e.Place, &e.Side, &e.State, &relayed, &e.Level, &e.SkillID, &e.SkillName, &e.Summary, &e.Format,
		&e.Hash, &e.Opening, &e.opened, &e.accepting, &e.content, &e.provenance, &e.Item, &e.Reason, &created, &changed, &deadline, &tags)
	if errors.Is(err, sql.ErrNoRows) {
		return e, ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal([]byte(tags), &e.Tags)
	}
	e.Relayed, e.Created, e.Changed = relayed == 1, store.Time(created), store.Time(changed)
	if deadline != never {
		e.Deadline = store.Time(deadline)
	}
	return e, err
}

// never is the deadline of what has none.
const never = int64(1) << 62

// become moves the exchange on, if that is a legal step, and writes it.
func (e *Exchange) become(tx *store.Tx, next meeting.ExchangeState, now time.Time) error {
	if !e.State.CanBecome(next, e.Side) {
		return ErrState
	}
	e.State = next
	return e.save(tx, now)
}

func (e *Exchange) save(tx *store.Tx, now time.Time) error {
	if e.ID == "" {
		e.ID, e.Created = ids.New(), now
	}
	e.Changed = now
	deadline := never
	if limit := e.State.TimeLimit(e.Relayed); limit > 0 {
		deadline = store.Micros(now.Add(limit))
	}
	tags, err := json.Marshal(append([]string{}, e.Tags...))
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO skill_exchanges (`+exchangeColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, relayed = excluded.relayed, accepting = excluded.accepting, item = excluded.item,
		reason = excluded.reason, changed_at = excluded.changed_at, deadline = excluded.deadline, content = excluded.content`,
		e.ID, e.me, e.Agent, e.Peer, e.Place, string(e.Side), string(e.State), store.Bool(e.Relayed), string(e.Level), fit.Storable(e.SkillID), fit.Storable(e.SkillName),
		fit.Storable(e.Summary), fit.Storable(e.Format), e.Hash, e.Opening, e.opened, e.accepting, e.content, e.provenance, e.Item, fit.Storable(e.Reason),
		store.Micros(e.Created), store.Micros(now), deadline, fit.Storable(string(tags)))
	return err
}

// pending finds the exchange a reply is about: it must name the message and come
// from its other party.
func pending(tx *store.Tx, me, peer, reply string, side meeting.ExchangeSide) (Exchange, error) {
	if reply == "" {
		return Exchange{}, ErrNotFound
	}
	return scanExchange(tx.QueryRow(`SELECT `+exchangeColumns+` FROM skill_exchanges WHERE me = ? AND peer = ? AND side = ? AND (opening = ? OR accepting = ?)
		ORDER BY created_at DESC LIMIT 1`, me, peer, string(side), reply, reply))
}

// Exchanges lists the newest.
func (a Acting) Exchanges(ctx context.Context, limit int) ([]Exchange, error) {
	out := []Exchange{}
	mine, err := a.reach(ctx)
	if err != nil {
		return nil, err
	}
	agents, args := mine.Where("agent")
	err = a.s.d.DB.Read(ctx, func(tx *store.Tx) error {
		out = out[:0]
		return tx.Each(store.IntoBy(&out, scanExchange), `SELECT `+exchangeColumns+` FROM skill_exchanges WHERE `+agents+` ORDER BY created_at DESC, id DESC LIMIT ?`, append(args, limit)...)
	})
	return out, err
}
