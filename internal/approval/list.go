package approval

import (
	"context"
	"strings"

	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// Filter chooses questions. Empty fields choose everything.
type Filter struct {
	// Principal chooses what the person sees: their own, and those of others
	// that name them in the policy.
	Principal    string
	States       []State
	Kind         string
	Task         string
	Conversation string
	// Limit is how many at most (default 100, at most 1000), the newest.
	Limit int
}

func (f Filter) where() (string, []any) {
	clauses := []string{"1 = 1"}
	var args []any
	add := func(used bool, clause string, values ...any) {
		if used {
			clauses, args = append(clauses, clause), append(args, values...)
		}
	}
	add(f.Principal != "", `(principal = ? OR id IN (SELECT approval FROM approval_people WHERE person = ?))`, f.Principal, f.Principal)
	add(f.Kind != "", "kind = ?", f.Kind)
	add(f.Task != "", "task = ?", f.Task)
	add(f.Conversation != "", "conversation = ?", f.Conversation)
	if len(f.States) > 0 {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(f.States)), ", ")
		clauses = append(clauses, "state IN ("+marks+")")
		for _, s := range f.States {
			args = append(args, string(s))
		}
	}
	return " WHERE " + strings.Join(clauses, " AND "), args
}

// List finds questions, newest first.
func (in *Inbox) List(ctx context.Context, f Filter) ([]Item, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	where, args := f.where()
	var list []Item
	err := in.db.Read(ctx, func(tx *store.Tx) (err error) {
		list, err = items(tx, where+` ORDER BY created_at DESC, id DESC LIMIT ?`, append(args, min(limit, 1000))...)
		return err
	})
	return list, err
}

// Get finds one question that the session may see.
func (in *Inbox) Get(ctx context.Context, who identity.Actor, id string) (Item, error) {
	var item Item
	err := in.db.Read(ctx, func(tx *store.Tx) (err error) {
		item, err = load(tx, id, "")
		return err
	})
	if err != nil {
		return Item{}, err
	}
	if !item.visible(who) {
		return Item{}, ErrNotFound
	}
	return item, nil
}

// Waiting counts what waits for a person.
func (in *Inbox) Waiting(ctx context.Context, principal string) (int, error) {
	where, args := Filter{Principal: principal, States: []State{StatePending}}.where()
	var n int
	err := in.db.Read(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM approvals`+where, args...).Scan(&n)
	})
	return n, err
}
