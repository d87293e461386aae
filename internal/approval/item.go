package approval

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"parley.internal/internal/fit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// State is where a question stands.
type State string

// The states. All but pending are final.
const (
	StatePending   State = "pending"
	StateApproved  State = "approved"
	StateRejected  State = "rejected"
	StateExpired   State = "expired"
	StateCancelled State = "cancelled"
)

// How long a yes holds.
const (
	RememberOnce = "once"
	RememberTask = "task"
)

// Outcome is how a question was decided.
type Outcome struct {
	State State `json:"outcome"`
	// By is who decided ("person:alice"); empty when time did.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Remember is RememberTask when the yes holds for the rest of the task.
	Remember string    `json:"remember,omitempty"`
	Answers  []string  `json:"answers,omitempty"`
	At       time.Time `json:"resolved_at,omitzero"`
}

// Approved reports whether it may happen.
func (o Outcome) Approved() bool { return o.State == StateApproved }

// Item is a question as the inbox keeps it.
type Item struct {
	Request
	// Digest is the SHA-256 of the canonical arguments.
	Digest  string    `json:"digest"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at"`
	Outcome Outcome   `json:"outcome"`

	changed int64
}

// Left is how much time remains to answer.
func (i Item) Left(now time.Time) time.Duration { return max(i.Expires.Sub(now), 0) }

// visible reports whether the session may know of it.
func (i Item) visible(who identity.Actor) bool {
	return who.Owns(i.Principal) || (who.Person.ID != "" && slices.Contains(i.Policy.People, who.Person.ID))
}

const columns = `id, principal, kind, title, tool, arguments, digest, target, reason, requested_by, on_behalf_of, asked,
	task, conversation, questions, policy, may_remember, quorum, created_at, expires_at, changed, state`

const selectItem = `SELECT ` + columns + `, resolved_at, resolved_by, resolve_reason, remembered, answers FROM approvals`

func scanItem(row store.Row) (Item, error) {
	var i Item
	var arguments, who, questions, policy, state, answers string
	var from asked
	var remember, created, expires, resolved int64
	err := row.Scan(&i.ID, &i.Principal, &i.Kind, &i.Title, &i.Tool, &arguments, &i.Digest, &i.Target, &i.Reason, &i.RequestedBy, &i.OnBehalfOf, &who,
		&i.Task, &i.Conversation, &questions, &policy, &remember, &i.Quorum, &created, &expires, &i.changed, &state,
		&resolved, &i.Outcome.By, &i.Outcome.Reason, &i.Outcome.Remember, &answers)
	if errors.Is(err, sql.ErrNoRows) {
		return Item{}, ErrNotFound
	}
	if err != nil {
		return Item{}, err
	}
	i.Arguments, i.MayRemember = json.RawMessage(arguments), remember == 1
	i.Created, i.Expires = store.Time(created), store.Time(expires)
	i.Timeout = i.Expires.Sub(i.Created)
	i.Outcome.State, i.Outcome.At = State(state), store.Time(resolved)
	err = json.Unmarshal([]byte(who), &from)
	i.Asker, i.Taint, i.Scene = from.Asker, from.Taint, from.Scene
	return i, errors.Join(err, json.Unmarshal([]byte(questions), &i.Questions), json.Unmarshal([]byte(policy), &i.Policy),
		json.Unmarshal([]byte(answers), &i.Outcome.Answers))
}

// insert writes a new question.
func (i Item) insert(tx *store.Tx) error {
	questions, err := json.Marshal(i.Questions)
	if err != nil {
		return err
	}
	policy, err := json.Marshal(i.Policy)
	if err != nil {
		return err
	}
	who, err := json.Marshal(asked{i.Asker, i.Taint, i.Scene})
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO approvals (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		i.ID, i.Principal, i.Kind, i.Title, i.Tool, string(i.Arguments), i.Digest, i.Target, i.Reason, i.RequestedBy, i.OnBehalfOf, fit.Storable(string(who)),
		i.Task, i.Conversation, fit.Storable(string(questions)), string(policy), store.Bool(i.MayRemember), i.Quorum,
		store.Micros(i.Created), store.Micros(i.Expires), i.changed, string(StatePending))
	if err != nil {
		return err
	}
	for _, person := range i.Policy.People {
		if _, err := tx.Exec(`INSERT INTO approval_people (person, approval) VALUES (?, ?) ON CONFLICT DO NOTHING`, person, i.ID); err != nil {
			return err
		}
	}
	return nil
}

func load(tx *store.Tx, id, lock string) (Item, error) {
	return scanItem(tx.QueryRow(selectItem+` WHERE id = ?`+lock, id))
}

// tick moves the clock. It stays locked until the commit, so values become
// visible in order.
func tick(tx *store.Tx) (int64, error) {
	var seq int64
	err := tx.QueryRow(`UPDATE approval_clock SET seq = seq + 1 WHERE one = 1 RETURNING seq`).Scan(&seq)
	return seq, err
}
