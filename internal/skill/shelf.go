package skill

import (
	"context"
	"errors"
	"fmt"

	"parley.internal/internal/fit"
	"parley.internal/internal/ids"
	"parley.internal/internal/place"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/mmp/meeting"
)

// Shelf is where a place keeps skills that everybody may take. A [Line] that leads to a
// place is one, too.
type Shelf interface {
	// Deposited lists what the agent itself has there: the hash of each by its id.
	Deposited(ctx context.Context) (map[string]string, error)
	Deposit(ctx context.Context, o Own) error
	Withdraw(ctx context.Context, id, reason string) error
	Browse(ctx context.Context, search string, limit int) ([]board.Deposit, error)
	Preview(ctx context.Context, owner, id string) (board.Deposit, error)
	Content(ctx context.Context, owner, id string) (board.ContentAnswer, error)
	Attest(ctx context.Context, owner, id, claim string) error
}

// Stock makes an agent's part of a shelf what its public skills are now: new and changed
// ones are deposited, and what is not public any more is taken away. Without on, all of it
// is. It tells how many lie there.
func (s *Skills) Stock(ctx context.Context, agent string, shelf Shelf, on bool) (int, error) {
	h, err := s.host(agent)
	if err != nil {
		return 0, err
	}
	var public []Own
	if on {
		err = s.d.DB.Read(ctx, func(tx *store.Tx) error {
			public = s.public(tx, h)
			return nil
		})
	}
	if err != nil {
		return 0, err
	}
	there, err := shelf.Deposited(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	lying := 0
	for _, o := range public {
		hash, lies := there[o.ID]
		delete(there, o.ID)
		if lies && mmp.SameHash(hash, o.hash().Bare()) {
			lying++
			continue
		}
		if err := s.depositOne(ctx, h, shelf, o); err != nil {
			errs = append(errs, fmt.Errorf("depositing %s: %w", o.ID, err))
			continue
		}
		lying++
	}
	for id := range there {
		if err := shelf.Withdraw(ctx, id, "not public any more"); err != nil {
			errs = append(errs, fmt.Errorf("withdrawing %s: %w", id, err))
		}
	}
	return lying, errors.Join(errs...)
}

// depositOne signs for the way a skill came, so that whoever takes it knows whose it is.
func (s *Skills) depositOne(ctx context.Context, h Host, shelf Shelf, o Own) error {
	provenance, err := o.Provenance.Send(h.ID).SignHop(h.Ring.RSA, o.hash())
	if err != nil {
		return err
	}
	o.Provenance, o.Summary = &provenance, fit.Clip(o.Summary, mmp.MaxSummary)
	return shelf.Deposit(ctx, o)
}

// shelf is the one of a place where an agent of the actor's is.
func (a Acting) shelf(ctx context.Context, agent, at string) (Host, Shelf, error) {
	h, err := a.host(ctx, agent)
	if err != nil {
		return h, nil, err
	}
	line := a.s.line(h.ID, at)
	if line == nil {
		return h, nil, fmt.Errorf("%w: %s is not there", ErrNotFound, h.Name)
	}
	shelf, ok := line.(Shelf)
	if !ok {
		return h, nil, fmt.Errorf("%w: an agent that is met at its address has no shelf", ErrInvalid)
	}
	return h, shelf, nil
}

// Deposits looks at the shelf of a place; me is the agent that looks.
func (a Acting) Deposits(ctx context.Context, agent, at, search string, limit int) (me string, found []board.Deposit, err error) {
	h, shelf, err := a.shelf(ctx, agent, at)
	if err != nil {
		return "", nil, err
	}
	found, err = shelf.Browse(ctx, search, limit)
	return h.ID, found, err
}

// Deposit shows one skill of a shelf.
func (a Acting) Deposit(ctx context.Context, agent, at, owner, id string) (me string, found board.Deposit, err error) {
	h, shelf, err := a.shelf(ctx, agent, at)
	if err != nil {
		return "", found, err
	}
	found, err = shelf.Preview(ctx, owner, id)
	return h.ID, found, err
}

// Attest says something about a skill of a shelf.
func (a Acting) Attest(ctx context.Context, agent, at, owner, id, claim string) error {
	h, shelf, err := a.shelf(ctx, agent, at)
	if err != nil {
		return err
	}
	if err := a.Allow(ctx, "skill_attest", words{"skill_attest", h.Name, at, owner, map[string]string{"skill": id, "claim": claim}}); err != nil {
		return err
	}
	return shelf.Attest(ctx, owner, id, claim)
}

// Acquire takes a skill from a shelf into quarantine, and asks its person about it.
func (a Acting) Acquire(ctx context.Context, agent, at, owner, id string) (Item, error) {
	h, shelf, err := a.shelf(ctx, agent, at)
	if err != nil {
		return Item{}, err
	}
	if err := a.Allow(ctx, "skill_acquire", words{"skill_acquire", h.Name, at, owner, id}); err != nil {
		return Item{}, err
	}
	about, err := shelf.Preview(ctx, owner, id)
	if err != nil {
		return Item{}, err
	}
	got, err := shelf.Content(ctx, owner, id)
	if err != nil {
		return Item{}, err
	}
	if got.DepositorID != "" && got.DepositorID != owner || owner == h.ID {
		return Item{}, fmt.Errorf("%w: it is the skill of %s", ErrInvalid, got.DepositorID)
	}
	item, err := a.s.acquired(ctx, h, at, owner, about, got)
	if err != nil {
		return Item{}, err
	}
	return a.Ask(ctx, item)
}

// acquired puts what lay on a shelf into quarantine. It is its owner's as far as the
// owner's key has signed for it, and else a stranger's: the place may have put anything there.
func (s *Skills) acquired(ctx context.Context, h Host, at, owner string, about board.Deposit, got board.ContentAnswer) (string, error) {
	now := s.now()
	p := meeting.SkillContentPayload{
		SkillID: got.SkillID, SkillName: got.Name, Format: firstText(got.Format, meeting.FormatMarkdown), Content: got.Content, ContentHash: mmp.HashOf(got.Content).Bare(), Provenance: got.Provenance,
	}
	m, err := meeting.NewMessage(meeting.ActionSkillContent, owner, h.ID, p, now)
	if err != nil {
		return "", err
	}
	t := &turn{s: s, host: h, place: at, m: m, now: now, from: place.Sender{ID: owner, Version: 1}, keys: s.chainKeys(ctx, h, at, m)}
	if key := t.keys[owner]; key != nil && signedLast(p, owner, key) {
		t.from.Proven, t.from.KeyID = true, key.KeyID()
	}
	if t.level, err = s.believed(ctx, t.from); err != nil {
		return "", err
	}
	var item string
	err = s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		t.tx = tx
		item, err = t.shelve(p, about)
		return err
	})
	return item, err
}

// signedLast tells whether the owner, whom the way of a skill ends with, has signed for it.
func signedLast(p meeting.SkillContentPayload, owner string, key *mmp.PublicKey) bool {
	if p.Provenance == nil || len(p.Provenance.Chain) == 0 || p.Provenance.Chain[len(p.Provenance.Chain)-1] != owner {
		return false
	}
	hops := p.Provenance.VerifiedHops(mmp.HashOf(p.Content), func(id string) *mmp.PublicKey {
		if id == owner {
			return key
		}
		return nil
	})
	return len(hops) > 0 && hops[len(hops)-1]
}

// shelve checks a skill of a shelf like one that was sent. A person asked for it, so that
// nobody's questions of the day are used up.
func (t *turn) shelve(p meeting.SkillContentPayload, about board.Deposit) (string, error) {
	room, err := t.roomFor(len(p.Content))
	if err != nil {
		return "", err
	}
	refused, err := t.refusedBefore(mmp.HashOf(p.Content).Bare())
	if err != nil {
		return "", err
	}
	if refused {
		return "", fmt.Errorf("%w: somebody of this hub refused this very text", ErrInvalid)
	}
	provenance, err := meeting.CheckSkill(meeting.SkillCheck{
		Format: p.Format, ExtraFormats: t.formats(), Content: p.Content, ContentHash: p.ContentHash, OfferedHash: about.ContentHash, Provenance: p.Provenance,
		Sender: t.from.ID, Me: t.host.ID, Full: !room,
	})
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	e := t.newExchange(meeting.SideReceiving)
	e.SkillID, e.SkillName, e.Format, e.Tags, e.State = p.SkillID, p.SkillName, p.Format, about.Tags, meeting.ExAccepted
	e.Opening = "shelf_" + ids.New()
	if e.Summary = about.Description; about.Summary != nil && *about.Summary != "" {
		e.Summary = *about.Summary
	}
	_, err = t.quarantine(p, &e, provenance, false)
	return e.Item, err
}
