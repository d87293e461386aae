package rule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
)

// People is what rules need to know of people; *identity.Directory is one.
type People interface {
	// Standing is an actor as its credential stands now; one that ended is refused.
	Standing(ctx context.Context, a identity.Actor) (identity.Actor, error)
	// Lasting is an actor for what outlives the page it was made on.
	Lasting(ctx context.Context, a identity.Actor) (identity.Actor, error)
	// Person is somebody by id or name.
	Person(ctx context.Context, idOrName string) (identity.Person, error)
}

// Rules are all of a hub.
type Rules struct {
	DB     *store.DB
	People People
	Trail  audit.Recorder
}

// Make makes a rule of the actor's own.
func (s *Rules) Make(ctx context.Context, who identity.Actor, r Rule) (Rule, error) {
	r, write, err := s.Prepare(ctx, who, r)
	if err != nil {
		return Rule{}, err
	}
	return r, s.DB.Write(ctx, write)
}

// Prepare completes and checks a rule. It is made by the transaction that write is in, such
// as the one that answers the question it comes from.
func (s *Rules) Prepare(ctx context.Context, who identity.Actor, r Rule) (made Rule, write func(*store.Tx) error, err error) {
	if !who.Human() || who.Where == identity.AtMCP {
		return Rule{}, nil, fmt.Errorf("%w: only a person in person makes one", ErrForbidden)
	}
	r.ID, r.Owner, r.OwnerName, r.Created = ids.New(), who.Person.ID, who.Person.Name, time.UnixMicro(time.Now().UnixMicro()).UTC()
	if err := r.complete(r.Created); err != nil {
		return Rule{}, nil, err
	}
	if r.maker, err = s.People.Lasting(ctx, who); err != nil {
		return Rule{}, nil, err
	}
	return r, func(tx *store.Tx) error { return s.insert(tx, who, r) }, nil
}

func (s *Rules) insert(tx *store.Tx, who identity.Actor, r Rule) error {
	inPerson, err := identity.OfNoProgram(tx, who.Via)
	if err != nil {
		return err
	}
	if !inPerson {
		return fmt.Errorf("%w: a program's token makes none; use a page you logged in to yourself, or the hub's own machine", ErrForbidden)
	}
	if _, err := tx.Exec(`DELETE FROM standing_rules WHERE owner = ? AND until_at < ?`, r.Owner, store.Micros(r.Created.Add(-UsualLife))); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM standing_rules WHERE owner = ?`, r.Owner).Scan(&n); err != nil {
		return err
	}
	if n >= maxRules {
		return fmt.Errorf("%w: you have %d already", ErrInvalid, maxRules)
	}
	if err := r.write(tx); err != nil {
		return err
	}
	detail := who.Trace()
	detail["rule"], detail["question"] = r.Words(), r.Question
	return s.Trail.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.RuleMade, Target: r.ID, Detail: detail})
}

// Revoke ends a rule, from the next call on: its owner may, and the administration. To
// others it does not exist.
func (s *Rules) Revoke(ctx context.Context, who identity.Actor, id string) error {
	if !who.Human() {
		return ErrNotFound
	}
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(`DELETE FROM standing_rules WHERE id = ? AND (owner = ? OR ? = 1)`, id, who.Person.ID, store.Bool(who.Admin()))
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.Trail.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.RuleRevoked, Target: id, Detail: who.Trace()})
	})
}

// List is what somebody has made, the newest first; the administration sees all.
func (s *Rules) List(ctx context.Context, who identity.Actor) ([]Rule, error) {
	list, err := s.rows(ctx, `WHERE owner = ? OR ? = 1`, who.Person.ID, store.Bool(who.Admin()))
	for i := range list {
		if person, unknown := s.People.Person(ctx, list[i].Owner); unknown == nil {
			list[i].OwnerName = person.Name
		}
	}
	return list, err
}

// Find implements approval.Rules. A rule whose maker's right has ended answers nothing.
func (s *Rules) Find(ctx context.Context, item approval.Item) ([]approval.Standing, error) {
	list, err := s.rows(ctx, `WHERE owner = ? AND agent = ? AND tool = ? AND used < uses AND until_at > ?`,
		item.Principal, item.Scene.Agent, item.Tool, store.Micros(time.Now()))
	var out []approval.Standing
	for _, r := range list {
		if !r.Answers(item) {
			continue
		}
		if now, ended := s.People.Standing(ctx, r.maker); ended == nil {
			out = append(out, approval.Standing{ID: r.ID, Maker: now, Words: r.Words()})
		}
	}
	return out, err
}

// Spend implements approval.Rules.
func (s *Rules) Spend(tx *store.Tx, one approval.Standing, item approval.Item) (bool, error) {
	now := store.Micros(time.Now())
	n, err := tx.Exec(`UPDATE standing_rules SET used = used + 1, used_at = ? WHERE id = ? AND used < uses AND until_at > ?`, now, one.ID, now)
	if err != nil || n == 0 {
		return false, err
	}
	return true, s.Trail.AppendTx(tx, audit.Entry{
		Actor: item.RequestedBy, OnBehalf: item.OnBehalfOf, Action: audit.RuleUsed, Target: one.ID, Digest: item.Digest,
		Detail: map[string]any{"tool": item.Tool, "question": item.ID},
	})
}

const columns = `id, owner, agent, tool, arguments, folder, reach, created_at, until_at, uses, used, used_at, question, maker`

func (r Rule) write(tx *store.Tx) error {
	var parts [3]string
	for i, v := range []any{r.Arguments, r.Reach, r.maker} {
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		parts[i] = string(raw)
	}
	_, err := tx.Exec(`INSERT INTO standing_rules (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Owner, r.Agent, r.Tool, parts[0], r.Folder, parts[1], store.Micros(r.Created), store.Micros(r.Until), r.Uses, 0, 0, r.Question, parts[2])
	return err
}

func (s *Rules) rows(ctx context.Context, where string, args ...any) ([]Rule, error) {
	out := []Rule{}
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		out = out[:0]
		return tx.Each(store.IntoBy(&out, scan), `SELECT `+columns+` FROM standing_rules `+where+` ORDER BY created_at DESC, id`, args...)
	})
	return out, err
}

func scan(row store.Row) (r Rule, err error) {
	var arguments, reach, maker string
	var created, until, used int64
	if err := row.Scan(&r.ID, &r.Owner, &r.Agent, &r.Tool, &arguments, &r.Folder, &reach, &created, &until, &r.Uses, &r.Used, &used, &r.Question, &maker); err != nil {
		return r, err
	}
	r.Created, r.Until, r.UsedAt = store.Time(created), store.Time(until), store.Time(used)
	return r, errors.Join(json.Unmarshal([]byte(arguments), &r.Arguments), json.Unmarshal([]byte(reach), &r.Reach), json.Unmarshal([]byte(maker), &r.maker))
}
