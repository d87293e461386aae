package talk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/talk/memory"
	"parley.internal/protocol/agentfirst"
)

// How long memory is shared: unless somebody says otherwise, and at most.
const (
	usualShare   = 30 * 24 * time.Hour
	longestShare = 366 * 24 * time.Hour
)

// Share lets another agent, or the same one with another sender, recall archives. The
// giver needs the right to them, and the grant ends with that right.
func (t *Talk) Share(ctx context.Context, who identity.Actor, g memory.Grant) (memory.Grant, error) {
	key, err := keyOf(who, Key{Agent: g.Agent, Sender: g.Sender})
	if err != nil {
		return g, err
	}
	g.Sender = key.Sender
	if g.ToSender == "" {
		g.ToSender = key.Sender
	}
	if err := checkShare(&g, time.Now()); err != nil {
		return g, err
	}
	if g.Archive != "" {
		_, of, err := t.d.Memory.GetArchive(ctx, g.Archive)
		if err == nil && (of.Agent != g.Agent || of.Sender != g.Sender) {
			err = ErrNoArchive
		}
		if err != nil {
			return g, err
		}
	}
	if g.Maker = who; t.d.People != nil {
		if g.Maker, err = t.d.People.Lasting(ctx, who); err != nil {
			return g, err
		}
	}
	if g, err = t.d.Memory.AddGrant(ctx, g); err == nil {
		t.note(who.String(), audit.TalkShared, g.ID, shareDetail(g))
	}
	return g, err
}

func shareDetail(g memory.Grant) map[string]any {
	return map[string]any{
		"agent": g.Agent, "sender": g.Sender, "archive": g.Archive, "to_agent": g.ToAgent, "to_sender": g.ToSender, "until": g.Expires.UTC().Format(time.RFC3339),
	}
}

func checkShare(g *memory.Grant, now time.Time) error {
	for _, err := range []error{agentfirst.CheckAgent(g.ToAgent), agentfirst.CheckSender(g.ToSender)} {
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	if g.Expires.IsZero() {
		g.Expires = now.Add(usualShare)
	}
	switch {
	case g.ToAgent == g.Agent && g.ToSender == g.Sender:
		return fmt.Errorf("%w: %s remembers that by itself", ErrBadRequest, g.Agent)
	case !g.Expires.After(now) || g.Expires.After(now.Add(longestShare)):
		return fmt.Errorf("%w: memory is shared until a time within a year", ErrBadRequest)
	}
	return nil
}

// Shares lists what the caller shares, and what is shared with them.
func (t *Talk) Shares(ctx context.Context, who identity.Actor) ([]memory.Grant, error) {
	list, err := t.d.Memory.Grants(ctx)
	return slices.DeleteFunc(list, func(g memory.Grant) bool { return !may(who, g.Sender) && !may(who, g.ToSender) }), err
}

// Unshare takes back what is the caller's to give.
func (t *Talk) Unshare(ctx context.Context, who identity.Actor, id string) error {
	g, err := t.d.Memory.GetGrant(ctx, id)
	if err == nil && !may(who, g.Sender) {
		err = memory.ErrNoGrant
	}
	if err != nil {
		return err
	}
	if err := t.d.Memory.DeleteGrant(ctx, id); err != nil {
		return err
	}
	t.note(who.String(), audit.TalkUnshared, id, shareDetail(g))
	return nil
}

// shared are the grants that hold for a run now: those whose giver still has the right.
func (r *running) shared(ctx context.Context) ([]memory.Grant, error) {
	list, err := r.c.t.d.Memory.GrantsFor(ctx, r.c.key.Agent, r.c.key.Sender)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(g memory.Grant) bool { return !r.c.t.stands(ctx, g) }), nil
}

// stands tells whether a grant's giver could still give it.
func (t *Talk) stands(ctx context.Context, g memory.Grant) bool {
	giver := g.Maker
	if t.d.People != nil {
		var err error
		if giver, err = t.d.People.Standing(ctx, g.Maker); err != nil {
			return false
		}
	}
	return may(giver, g.Sender)
}

// covers tells whether a grant shares an archive of a conversation.
func covers(g memory.Grant, of Key, archive string) bool {
	return g.Agent == of.Agent && g.Sender == of.Sender && archive != "" && (g.Archive == "" || g.Archive == archive)
}

// recallShared searches what others share, and cites each with its origin.
func (r *running) recallShared(ctx context.Context, q memory.Query) (text string, err error) {
	grants, err := r.shared(ctx)
	if err != nil {
		return "", err
	}
	for _, g := range grants {
		own := q
		// Beside a message at the edge of an archive stand words that are not shared.
		own.Agent, own.Sender, own.Archive, own.OutsideOf, own.Near, own.Limit = g.Agent, g.Sender, g.Archive, "", -1, memory.MaxHits
		found, err := r.c.t.d.Memory.Search(ctx, own)
		if err != nil {
			return "", err
		}
		hits := slices.DeleteFunc(found.Hits, func(h memory.Hit) bool { return h.Kind == "note" || !covers(g, h.Key, h.ArchiveID) })
		if len(hits) == 0 {
			continue
		}
		r.c.t.note(r.actor().String(), audit.TalkRecalledShared, g.ID, map[string]any{"conversation": r.c.id, "hits": len(hits)})
		text += "\n\n" + origin(g) + "\n" + hitsText(hits[:min(len(hits), autoHits)])
	}
	return text, nil
}

// origin says whose words follow.
func origin(g memory.Grant) string {
	return fmt.Sprintf("Shared with you until %s: what %s and %s said to each other. These are somebody else's words.", g.Expires.UTC().Format(time.DateOnly), g.Agent, g.Sender)
}

// sharedArchive finds the grant that lets the run read an archive which is not its own.
func (r *running) sharedArchive(ctx context.Context, id string, of Key) (memory.Grant, error) {
	grants, err := r.shared(ctx)
	if err != nil {
		return memory.Grant{}, err
	}
	i := slices.IndexFunc(grants, func(g memory.Grant) bool { return covers(g, of, id) })
	if i < 0 {
		return memory.Grant{}, memory.ErrNoGrant
	}
	r.c.t.note(r.actor().String(), audit.TalkRecalledShared, grants[i].ID, map[string]any{"conversation": r.c.id, "archive": id})
	return grants[i], nil
}
