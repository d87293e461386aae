package skill

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/scan"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/meeting"
)

// ItemState is where a received skill stands.
type ItemState string

// The states. Only an approved one is used.
const (
	StateQuarantined ItemState = "quarantined"
	StateApproved    ItemState = "approved"
	StateRejected    ItemState = "rejected"
	StateRevoked     ItemState = "revoked"
	StateReplaced    ItemState = "replaced" // by a newer version from the same origin
)

// decisions are what the trail calls what a person made of an item.
var decisions = map[ItemState]audit.Action{StateApproved: audit.SkillApproved, StateRejected: audit.SkillRejected}

// Item is a skill that came from outside.
type Item struct {
	ID    string
	Agent string
	// Name is what it is called here once approved, Title what its sender calls it.
	Name  string
	Title string
	// Summary and Tags are what its sender says it is about.
	Summary string
	Tags    []string
	Sender  string
	Place   string
	KeyID   string
	Level   Level
	Format  string
	Hash    string
	Content string // empty when it was refused
	Size    int
	// Provenance is a claim; Verified tells for each of its chain whether a key we
	// hold signed for this content.
	Provenance meeting.Provenance
	Verified   []bool
	Findings   []scan.Finding
	State      ItemState
	// Approval is the id of the question about it; Asked tells that the question is
	// in the inbox, which it is not in the moment after the skill arrived.
	Approval    string
	Asked       bool
	Unsolicited bool
	Public      bool
	Exchange    string
	File        string
	Received    time.Time
	Decided     time.Time
	DecidedBy   string
	Reason      string
	// Agents are those a person named when approving; AllAgents is everybody who
	// lists the skill, and so is none at all.
	Agents []string

	me, message string
}

// AllAgents stands for every agent of the hub in an approval.
const AllAgents = "*"

// Named are the agents the approval holds for; nil for all that list the skill.
func (i Item) Named() []string {
	if slices.Contains(i.Agents, AllAgents) || len(i.Agents) == 0 {
		return nil
	}
	return i.Agents
}

const itemColumns = `id, me, agent, name, title, sender, place, key_id, level, format, hash, content, size, provenance, verified, findings, state,
	approval, unsolicited, public, exchange, message, file, received_at, decided_at, decided_by, reason, agents, summary, tags`

// itemRow is what scanItem reads.
const itemRow = itemColumns + `, (SELECT count(*) FROM approvals WHERE approvals.id = skill_items.approval)`

func scanItem(row store.Row) (Item, error) {
	var i Item
	var provenance, verified, findings, agents, tags string
	var unsolicited, public, received, decided, asked int64
	err := row.Scan(&i.ID, &i.me, &i.Agent, &i.Name, &i.Title, &i.Sender, &i.Place, &i.KeyID, &i.Level, &i.Format, &i.Hash, &i.Content, &i.Size,
		&provenance, &verified, &findings, &i.State, &i.Approval, &unsolicited, &public, &i.Exchange, &i.message, &i.File, &received, &decided,
		&i.DecidedBy, &i.Reason, &agents, &i.Summary, &tags, &asked)
	if errors.Is(err, sql.ErrNoRows) {
		return i, ErrNotFound
	}
	if err != nil {
		return i, err
	}
	i.Unsolicited, i.Public, i.Asked, i.Received, i.Decided = unsolicited == 1, public == 1, asked == 1, store.Time(received), store.Time(decided)
	return i, errors.Join(json.Unmarshal([]byte(provenance), &i.Provenance), json.Unmarshal([]byte(verified), &i.Verified),
		json.Unmarshal([]byte(findings), &i.Findings), json.Unmarshal([]byte(agents), &i.Agents), json.Unmarshal([]byte(tags), &i.Tags))
}

func (i *Item) insert(tx *store.Tx) error {
	provenance, err1 := json.Marshal(i.Provenance)
	verified, err2 := json.Marshal(i.Verified)
	findings, err3 := json.Marshal(i.Findings)
	tags, err4 := json.Marshal(append([]string{}, i.Tags...))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	i.Size = len(i.Content)
	_, err := tx.Exec(`INSERT INTO skill_items (`+itemColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		i.ID, i.me, i.Agent, i.Name, fit.Storable(i.Title), i.Sender, i.Place, i.KeyID, string(i.Level), fit.Storable(i.Format), i.Hash, i.Content, i.Size,
		string(provenance), string(verified), fit.Storable(string(findings)), string(i.State), i.Approval, store.Bool(i.Unsolicited), store.Bool(i.Public),
		i.Exchange, i.message, i.File, store.Micros(i.Received), store.Micros(i.Decided), i.DecidedBy, i.Reason, "[]", fit.Storable(i.Summary),
		fit.Storable(string(tags)))
	return err
}

// saveDecision writes what a person decided.
func (i *Item) saveDecision(tx *store.Tx) error {
	agents, err := json.Marshal(append([]string{}, i.Agents...))
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE skill_items SET name = ?, content = ?, state = ?, approval = ?, public = ?, file = ?, decided_at = ?, decided_by = ?, reason = ?, agents = ?
		WHERE id = ?`, i.Name, i.Content, string(i.State), i.Approval, store.Bool(i.Public), i.File, store.Micros(i.Decided), i.DecidedBy, fit.Storable(i.Reason), string(agents), i.ID)
	return err
}

func loadItem(tx *store.Tx, id string) (Item, error) {
	return scanItem(tx.QueryRow(`SELECT `+itemRow+` FROM skill_items WHERE id = ?`+tx.ForUpdate(), id))
}

func listItems(tx *store.Tx, rest string, args ...any) ([]Item, error) {
	out := []Item{}
	err := tx.Each(store.IntoBy(&out, scanItem), `SELECT `+itemRow+` FROM skill_items `+rest, args...)
	return out, err
}

// List finds received skills, the newest first; an empty state finds all.
func (a Acting) List(ctx context.Context, state ItemState, limit int) (out []Item, err error) {
	mine, err := a.reach(ctx)
	if err != nil {
		return nil, err
	}
	agents, args := mine.Where("agent")
	err = a.s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		out, err = listItems(tx, `WHERE `+agents+` AND (? = '' OR state = ?) ORDER BY received_at DESC, id DESC LIMIT ?`, append(args, string(state), string(state), limit)...)
		return err
	})
	return out, err
}

// Get finds one.
func (a Acting) Get(ctx context.Context, id string) (Item, error) {
	mine, err := a.reach(ctx)
	if err != nil {
		return Item{}, err
	}
	i, err := a.s.item(ctx, id)
	if err == nil && !mine.Has(i.Agent) {
		return Item{}, ErrNotFound
	}
	return i, err
}

func (s *Skills) item(ctx context.Context, id string) (i Item, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		i, err = scanItem(tx.QueryRow(`SELECT `+itemRow+` FROM skill_items WHERE id = ?`, id))
		return err
	})
	return i, err
}

// Usable lists what agents of this hub may use; see [Item.Named].
func (s *Skills) Usable(ctx context.Context) (out []Item, err error) {
	err = s.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		out, err = listItems(tx, `WHERE state = 'approved' ORDER BY name, id`)
		return err
	})
	return out, err
}

// inUse is the approved version an item would replace: of the same title and origin.
func inUse(tx *store.Tx, i Item) (Item, error) {
	all, err := listItems(tx, `WHERE me = ? AND state = 'approved' AND title = ? ORDER BY decided_at DESC`, i.me, fit.Storable(i.Title))
	if err != nil {
		return Item{}, err
	}
	for _, old := range all {
		if old.Provenance.Origin == i.Provenance.Origin {
			return old, nil
		}
	}
	return Item{}, ErrNotFound
}
