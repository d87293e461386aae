package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// Answer is what a person says.
type Answer struct {
	Approved bool
	Reason   string
	// Remember is RememberOnce (or empty) or RememberTask, which counts only
	// where the question allows it.
	Remember string
	// Answers are the replies to the request's questions.
	Answers []string
	// Also, if not nil, is done in the same transaction when this answer decides for yes: an
	// error leaves the question open.
	Also func(tx *store.Tx) error
}

// Result is what became of an answer.
type Result struct {
	Item Item
	// Decided is true if this answer decided. Otherwise the item's outcome is
	// what was decided before, or more people are needed (see Missing).
	Decided bool
	// Missing is how many more must say yes; zero once it is decided.
	Missing int
}

// maxAnswers bounds what one answer may hold, MaxAnswerCount how many replies: a skill
// has at most 200 findings, each a question of its own, and then who may use it.
const (
	maxAnswers     = 256 << 10
	MaxAnswerCount = 256
)

func (a Answer) check() error {
	size := len(a.Reason)
	for _, text := range a.Answers {
		size += len(text)
	}
	if size > maxAnswers || len(a.Answers) > MaxAnswerCount {
		return fmt.Errorf("%w: the answer is too large", ErrInvalid)
	}
	if !slices.Contains([]string{"", RememberOnce, RememberTask}, a.Remember) {
		return fmt.Errorf("%w: remember is once or task", ErrInvalid)
	}
	return nil
}

// Answer decides a question, if nothing did before. A second or late answer is
// no error: its Result holds what was recorded.
func (in *Inbox) Answer(ctx context.Context, who identity.Actor, id string, a Answer) (Result, error) {
	if err := a.check(); err != nil {
		return Result{}, err
	}
	var out Result
	err := in.db.Write(ctx, func(tx *store.Tx) error {
		item, err := load(tx, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		if err := item.mayAnswer(tx, who); err != nil {
			return err
		}
		out, err = in.answer(tx, item, who, a)
		return err
	})
	if errors.Is(err, ErrForbidden) {
		in.noteRefused(who, id, err)
	}
	if err != nil {
		return Result{}, err
	}
	if out.Item.Outcome.State != StatePending {
		in.announce(out.Item)
	}
	return out, nil
}

// noteRefused records that somebody tried to decide who may not.
func (in *Inbox) noteRefused(who identity.Actor, id string, why error) {
	if in.opts.Audit == nil {
		return
	}
	detail := whoDetail(who)
	detail["why"] = why.Error()
	in.opts.Audit.Note(audit.Entry{Actor: who.String(), Action: audit.ApprovalRefused, Target: id, Outcome: "forbidden", Detail: detail})
}

// mayAnswer says whether the session may decide. What it may not see does not exist.
func (i Item) mayAnswer(tx *store.Tx, who identity.Actor) error {
	switch {
	case !i.visible(who):
		return ErrNotFound
	case !who.Human():
		return fmt.Errorf("%w: only a person decides, and this token belongs to no person", ErrForbidden)
	case who.Where == identity.AtMCP:
		return fmt.Errorf("%w: over MCP a model would answer; the person does, on the page, a device or a terminal of theirs", ErrForbidden)
	case !who.Scopes.Has(identity.ApprovalRespond):
		return fmt.Errorf("%w: this token lacks the scope %s", ErrForbidden, identity.ApprovalRespond)
	case i.Policy.Scope != "" && !who.Scopes.Has(i.Policy.Scope):
		return fmt.Errorf("%w: this token lacks the scope %s, which what is asked needs", ErrForbidden, i.Policy.Scope)
	case i.Policy.Right.lacks(who.Scopes) != "":
		return fmt.Errorf("%w: this token %s", ErrForbidden, i.Policy.Right.lacks(who.Scopes))
	case i.Policy.NotAsker && who.Person.ID == i.askingPerson():
		return fmt.Errorf("%w: you asked, and this wants the word of somebody else", ErrForbidden)
	}
	return i.inPerson(tx, who)
}

// askingPerson is the id of who asked; of old questions that is whose inbox they are in.
func (i Item) askingPerson() string { return cmp.Or(i.Asker.Person.ID, i.Principal) }

// inPerson keeps a program from answering itself: with the credential that asked, or
// with another one that comes from it.
func (i Item) inPerson(tx *store.Tx, who identity.Actor) error {
	if i.Policy.Screen {
		return nil
	}
	same, err := identity.SameProgram(tx, who.Via, i.Asker.Via)
	if err != nil || !same {
		return err
	}
	return fmt.Errorf("%w: this was asked with the same token, or with one it comes from; answer on a page you logged in to yourself, or with a device of yours", ErrForbidden)
}

func (in *Inbox) answer(tx *store.Tx, item Item, who identity.Actor, a Answer) (Result, error) {
	if item.Outcome.State != StatePending {
		return Result{Item: item}, nil
	}
	now := time.Now()
	if !now.Before(item.Expires) {
		item, err := in.resolve(tx, item, Outcome{State: StateExpired}, nil)
		return Result{Item: item}, err
	}
	if a.Approved && item.Quorum > 1 {
		missing, fresh, err := vote(tx, item, who, now)
		if err == nil && missing > 0 && fresh {
			detail := whoDetail(who)
			detail["missing"] = missing
			err = in.record(tx, who.String(), audit.ApprovalVoted, item, detail, now.Sub(item.Created))
		}
		if err != nil || missing > 0 {
			return Result{Item: item, Missing: missing}, err
		}
	}
	item, err := in.resolve(tx, item, a.outcome(item, who), whoDetail(who))
	if err == nil && a.Approved && a.Also != nil {
		err = a.Also(tx)
	}
	return Result{Item: item, Decided: true}, err
}

func (a Answer) outcome(item Item, who identity.Actor) Outcome {
	o := Outcome{State: StateRejected, By: who.String(), Reason: fit.Storable(a.Reason), Answers: []string{}}
	for _, text := range a.Answers {
		o.Answers = append(o.Answers, fit.Storable(text))
	}
	if a.Approved {
		o.State, o.Remember = StateApproved, RememberOnce
		if a.Remember == RememberTask && item.MayRemember {
			o.Remember = RememberTask
		}
	}
	return o
}

func whoDetail(who identity.Actor) map[string]any {
	detail := map[string]any{}
	for name, value := range map[string]string{"by_token": who.TokenID, "by_page": who.PageID, "by_device": who.Device, "by_address": who.Address} {
		if value != "" {
			detail[name] = value
		}
	}
	return detail
}

// vote counts a yes and returns how many are missing. Each person counts once; fresh tells
// that this was the first time.
func vote(tx *store.Tx, item Item, who identity.Actor, now time.Time) (missing int, fresh bool, err error) {
	n, err := tx.Exec(`INSERT INTO approval_votes (approval, voter, name, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		item.ID, who.Person.ID, who.String(), store.Micros(now))
	if err != nil {
		return 0, false, err
	}
	var votes int
	err = tx.QueryRow(`SELECT count(*) FROM approval_votes WHERE approval = ?`, item.ID).Scan(&votes)
	return max(item.Quorum-votes, 0), n > 0, err
}

// resolve decides a question that the transaction has locked and found pending.
func (in *Inbox) resolve(tx *store.Tx, item Item, o Outcome, detail map[string]any) (Item, error) {
	changed, err := tick(tx)
	if err != nil {
		return Item{}, err
	}
	o.At = time.UnixMicro(time.Now().UnixMicro()).UTC()
	if o.Answers == nil {
		o.Answers = []string{}
	}
	answers, err := json.Marshal(o.Answers)
	if err != nil {
		return Item{}, err
	}
	n, err := tx.Exec(`UPDATE approvals SET state = ?, resolved_at = ?, resolved_by = ?, resolve_reason = ?, remembered = ?, answers = ?, changed = ?
		WHERE id = ? AND state = 'pending'`, string(o.State), store.Micros(o.At), o.By, o.Reason, o.Remember, string(answers), changed, item.ID)
	if err != nil {
		return Item{}, err
	}
	if n != 1 {
		return Item{}, fmt.Errorf("approval %s was decided under its lock", item.ID)
	}
	item.Outcome, item.changed = o, changed
	actor := o.By
	if actor == "" {
		actor = "hub"
	}
	return item, in.record(tx, actor, audit.ApprovalResolved, item, detail, o.At.Sub(item.Created))
}

// Cancel takes a question out of the inbox because what it was about will not
// happen. It returns what is recorded, which is the earlier decision if there
// was one.
func (in *Inbox) Cancel(ctx context.Context, id, reason string) (Outcome, error) {
	var out Item
	err := in.db.Write(ctx, func(tx *store.Tx) error {
		item, err := load(tx, id, tx.ForUpdate())
		if err != nil {
			return err
		}
		out = item
		if item.Outcome.State == StatePending {
			out, err = in.resolve(tx, item, Outcome{State: StateCancelled, Reason: fit.Storable(reason)}, nil)
		}
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	in.announce(out)
	return out.Outcome, nil
}

// CancelConversation cancels whatever a conversation still waits for.
func (in *Inbox) CancelConversation(ctx context.Context, conversation, reason string) (int, error) {
	return in.resolveAll(ctx, Outcome{State: StateCancelled, Reason: fit.Storable(reason)}, `conversation = ? AND conversation <> ''`, conversation)
}

// maxResolved bounds one transaction; what is left is for the next.
const maxResolved = 200

// resolveAll decides every pending question that matches. All rows are locked,
// in one order, before the clock is, as everywhere.
func (in *Inbox) resolveAll(ctx context.Context, o Outcome, where string, args ...any) (int, error) {
	total := 0
	for {
		var resolved []Item
		err := in.db.Write(ctx, func(tx *store.Tx) error {
			locked, err := items(tx, ` WHERE state = 'pending' AND `+where+` ORDER BY id LIMIT ?`+tx.ForUpdate(), append(args, maxResolved)...)
			if err != nil {
				return err
			}
			resolved = resolved[:0]
			for _, item := range locked {
				if item, err = in.resolve(tx, item, o, nil); err != nil {
					return err
				}
				resolved = append(resolved, item)
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		in.announce(resolved...)
		total += len(resolved)
		// A full page proves nothing, nor does a short one: rows decided by
		// somebody else while we waited for them are missing from it.
		if len(resolved) == 0 {
			return total, nil
		}
	}
}

func items(tx *store.Tx, rest string, args ...any) ([]Item, error) {
	list := []Item{}
	err := tx.Each(store.IntoBy(&list, scanItem), selectItem+rest, args...)
	return list, err
}
