package hosts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley.internal/client/mmpagent"
	"parley.internal/internal/skill"
	"parley.internal/protocol/mmp/board"
)

// shelfEvery is how often a shelf is looked at: a skill that changed here is fresh there
// soon, and one that is not public any more is gone.
const shelfEvery = 15 * time.Second

var _ skill.Shelf = placeLine{}

// Deposited implements skill.Shelf.
func (l placeLine) Deposited(ctx context.Context) (map[string]string, error) {
	mine, err := l.agent.Deposits(ctx, l.agent.ID(), "", 500)
	if err != nil {
		return nil, answered(err)
	}
	out := map[string]string{}
	for _, d := range mine {
		out[d.SkillID] = d.ContentHash
	}
	return out, nil
}

// Deposit implements skill.Shelf.
func (l placeLine) Deposit(ctx context.Context, o skill.Own) error {
	_, err := l.agent.Deposit(ctx, mmpagent.Skill{
		ID: o.ID, Name: o.Name, Description: o.Summary, Summary: o.Summary, Tags: o.Tags, Content: o.Content, Provenance: o.Provenance,
	})
	return answered(err)
}

// Withdraw implements skill.Shelf.
func (l placeLine) Withdraw(ctx context.Context, id, reason string) error {
	return answered(l.agent.Withdraw(ctx, id, reason))
}

// Browse implements skill.Shelf.
func (l placeLine) Browse(ctx context.Context, search string, limit int) ([]board.Deposit, error) {
	found, err := l.agent.Deposits(ctx, "", search, limit)
	return found, answered(err)
}

// Preview implements skill.Shelf.
func (l placeLine) Preview(ctx context.Context, owner, id string) (board.Deposit, error) {
	d, err := l.agent.Preview(ctx, id, owner)
	return d, answered(err)
}

// Content implements skill.Shelf.
func (l placeLine) Content(ctx context.Context, owner, id string) (board.ContentAnswer, error) {
	got, err := l.agent.SkillContent(ctx, id, owner)
	return got, answered(err)
}

// Attest implements skill.Shelf.
func (l placeLine) Attest(ctx context.Context, owner, id, claim string) error {
	return answered(l.agent.Attest(ctx, id, owner, claim))
}

// answered says in our words what a place refuses.
func answered(err error) error {
	if _, refused := errors.AsType[*mmpagent.Error](err); !refused {
		return err
	}
	if errors.Is(err, mmpagent.ErrNotFound) {
		return fmt.Errorf("%w: %w", skill.ErrNotFound, err)
	}
	return fmt.Errorf("%w: %w", skill.ErrInvalid, err)
}

// visitShelf is a visit's line at a place; what goes to its shelf is no message, and is
// sent to nobody but the place that was meant.
type visitShelf struct {
	visitLine
	skill.Shelf
}

// keepShelf keeps an agent's public skills on a shelf as they are here, while wanted says
// so. Of an agent that does not want it, what an earlier time left there is taken away.
func (p *Hosts) keepShelf(ctx context.Context, agent string, shelf skill.Shelf, wanted func() bool) {
	tick := time.NewTicker(shelfEvery)
	defer tick.Stop()
	lying := -1 // nobody has looked
	for {
		if on := wanted(); on || lying != 0 {
			n, err := p.d.Skills.Stock(ctx, agent, shelf, on)
			if err != nil && ctx.Err() == nil {
				p.d.Log.Warn("an agent's skills on a shelf are not as they are here; tried again", "agent", agent, "error", err)
			} else if err == nil {
				lying = n
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// beside runs work until the returned function is called, which waits for its end.
func beside(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
