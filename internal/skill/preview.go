package skill

import (
	"context"
	"errors"

	"parley.internal/internal/store"
	"parley.internal/internal/visible"
)

// Review is a skill as a person should look at it.
type Review struct {
	Item
	// Source is all that is in the text, as it is written and never rendered: a
	// renderer hides what the agent reads. What cannot be seen is made visible.
	Source string
	// Diff is against the version in use, which InUse names; empty for a new one.
	Diff  string
	InUse string
	// MayUse are the agents an approval may name.
	MayUse []string
}

// Review shows a skill.
func (a Acting) Review(ctx context.Context, id string) (Review, error) {
	if _, err := a.Get(ctx, id); err != nil {
		return Review{}, err
	}
	return a.s.review(ctx, id)
}

func (s *Skills) review(ctx context.Context, id string) (Review, error) {
	var r Review
	err := s.d.DB.Read(ctx, func(tx *store.Tx) error {
		item, err := scanItem(tx.QueryRow(`SELECT `+itemRow+` FROM skill_items WHERE id = ?`, id))
		if err != nil {
			return err
		}
		r = Review{Item: item, Source: visible.Text(item.Content)}
		old, err := inUse(tx, item)
		if errors.Is(err, ErrNotFound) || err == nil && old.ID == item.ID {
			return nil
		}
		r.InUse, r.Diff = old.ID, Diff(visible.Text(old.Content), r.Source)
		return err
	})
	if err == nil {
		var whom audience
		whom, err = s.audienceOf(ctx, r.Agent)
		r.MayUse = whom.agents
	}
	return r, err
}
