package work

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/approval"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/internal/visible"
	"parley.internal/protocol/viber"
)

// Approvals lists what waits for the caller. See [API].
func (w *Work) Approvals(ctx context.Context, who identity.Actor) ([]viber.ApprovalRequired, error) {
	items, err := w.d.Inbox.List(ctx, approval.Filter{Principal: who.Person.ID, States: []approval.State{approval.StatePending}, Limit: 1000})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(items, func(a, b approval.Item) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	list := make([]viber.ApprovalRequired, 0, len(items))
	err = w.d.DB.Read(ctx, func(tx *store.Tx) error {
		list = list[:0]
		for _, item := range items {
			a, err := required(tx, item)
			if err != nil {
				return err
			}
			list = append(list, a)
		}
		return nil
	})
	return list, err
}

// required is a question as boards see it. One that belongs to no task has no task
// id, no seq, and its own id as the call's.
func required(tx *store.Tx, item approval.Item) (viber.ApprovalRequired, error) {
	list, err := pendingApprovals(tx, `id = ?`, item.ID)
	if err != nil {
		return viber.ApprovalRequired{}, err
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return plainQuestion(item), nil
}

func plainQuestion(item approval.Item) viber.ApprovalRequired {
	name := item.Tool
	if name == "" {
		name = item.Kind
	}
	args := jsontext.Value(item.Arguments)
	if args.Kind() != '{' {
		args = jsontext.Value("{}")
	}
	reason := item.Reason
	if reason == "" {
		reason = item.Title
	}
	shown := viber.ApprovalRequired{
		TaskRef: viber.TaskRef{TaskID: item.Task}, ApprovalID: item.ID, ToolCall: viber.ToolCall{ID: item.ID, Name: name, Arguments: args},
		Reason: reason, TimeoutMS: max(item.Left(time.Now()).Milliseconds(), 1), CreatedAt: viber.At(item.Created), RequestedBy: item.RequestedBy,
	}
	showAsker(&shown, item)
	return shown
}

// showAsker says who wants it, by what they came, on which machines, and whose words the
// run had read.
func showAsker(shown *viber.ApprovalRequired, item approval.Item) {
	if a := item.Asker; a != (approval.Asker{}) {
		shown.Asker = &viber.Asker{Via: a.Words(), Where: string(a.Via.Where), Agent: a.Via.Agent}
		if a.Person.ID != "" {
			shown.Asker.Person = a.Person.String()
		}
	}
	shown.Machines = item.Machines()
	if t := item.Taint; t != nil {
		shown.Tainted = &viber.Taint{Since: viber.At(t.Since), By: visible.Line(t.By)}
	}
}

// questionEvent is a change of the inbox that is no event of one of the person's own
// tasks.
func (w *Work) questionEvent(ctx context.Context, ev approval.Event) viber.TaskEvent {
	if ev.Kind == approval.Resolved {
		return resolvedItem(ev.Item, 0)
	}
	a := plainQuestion(ev.Item)
	err := w.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		a, err = required(tx, ev.Item)
		return err
	})
	if err != nil {
		w.d.Logger.Warn("cannot read a question's place in its task", "approval", ev.Item.ID, "error", err)
	}
	return &a
}

func resolvedItem(item approval.Item, seq int64) *viber.ApprovalResolved {
	return &viber.ApprovalResolved{
		TaskRef: viber.TaskRef{TaskID: item.Task, Seq: seq}, ApprovalID: item.ID, Outcome: viber.Outcome(item.Outcome.State),
		By: item.Outcome.By, Reason: item.Outcome.Reason, ResolvedAt: viber.At(item.Outcome.At),
	}
}

// Answer decides a question, unless something did before. See [API].
func (w *Work) Answer(ctx context.Context, who identity.Actor, r *viber.ApprovalResponse) (Answered, error) {
	if !plainID(r.ApprovalID) {
		return Answered{}, ErrNoApproval
	}
	res, err := w.d.Inbox.Answer(ctx, who, r.ApprovalID, approval.Answer{
		Approved: r.Yes(), Reason: r.Reason, Remember: string(r.Remember), Answers: r.Answers,
	})
	switch {
	case errors.Is(err, approval.ErrNotFound):
		return Answered{}, ErrNoApproval
	case errors.Is(err, approval.ErrForbidden):
		return Answered{}, errors.Join(ErrForbidden, err)
	case errors.Is(err, approval.ErrInvalid):
		return Answered{}, &viber.Violation{Reason: viber.ReasonBadPayload, Field: "/answers", Message: err.Error()}
	case err != nil:
		return Answered{}, err
	}
	out := Answered{First: res.Decided, Missing: res.Missing, item: res.Item}
	err = w.d.DB.Read(ctx, func(tx *store.Tx) error {
		if res.Item.Outcome.State == approval.StatePending {
			a, err := required(tx, res.Item)
			out.Required = &a
			return err
		}
		var seq, ended int64
		err := tx.QueryRow(`SELECT a.resolved_seq, t.ended_at FROM work_approvals a JOIN work_tasks t ON t.id = a.task WHERE a.id = ?`, res.Item.ID).Scan(&seq, &ended)
		if errors.Is(err, sql.ErrNoRows) {
			err, out.orphan = nil, res.Item.Task != "" && res.Item.Principal == who.Person.ID
		}
		out.Resolved, out.orphan = resolvedItem(res.Item, seq), out.orphan || ended > 0 && seq == 0
		return err
	})
	return out, err
}

// plainID is an id both databases can look up.
func plainID(id string) bool {
	return id != "" && len(id) <= 200 && !strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c == '\uFFFD' })
}
