package notify

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/internal/approval"
	"parley.internal/internal/visible"
)

// questions follows the inbox until ctx ends and tells what waits.
func (n *Notices) questions(ctx context.Context) {
	for ctx.Err() == nil {
		for ev, err := range n.deps.Inbox.Watch(ctx, "") {
			if err == nil {
				err = n.question(ctx, ev)
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, approval.ErrClosed) {
				n.deps.Logger.Warn("a question could not be told", "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (n *Notices) question(ctx context.Context, ev approval.Event) error {
	switch ev.Kind {
	case approval.Added:
		// The reminder first: whoever has been told is then sure to be reminded.
		return errors.Join(n.remind(ctx, ev.Item), n.Tell(ctx, noticeOf(ev.Item)))
	case approval.Resolved:
		return n.withdraw(ctx, ev.Item.ID, reminderID(ev.Item.ID))
	default:
		return nil
	}
}

// A question that may wait for long is told a second time, and no third: after half its
// time, but not later than after a day.
const (
	longWait  = time.Hour
	remindMax = 24 * time.Hour
)

func reminderID(question string) string { return question + "/reminder" }

// remind puts the reminder of a question into the outbox, to be told in its time.
func (n *Notices) remind(ctx context.Context, item approval.Item) error {
	if item.Timeout < longWait || item.Kind == approval.KindNote {
		return nil
	}
	note := noticeOf(item)
	note.ID, note.Title = reminderID(item.ID), "Still waiting: "+note.Title
	note.Due = item.Created.Add(min(item.Timeout/2, remindMax))
	return n.Tell(ctx, note)
}

// roomForText keeps a sealed message below what push services carry. A system cuts
// what it shows of a notice much earlier, so only a short text is answered there.
const (
	roomForText  = 1500
	shownOfText  = 200
	shownOfLines = 5
)

// noticeOf says what waits. The question can be answered from the notice only if
// all of it is shown: one never agrees to what one has not seen.
func noticeOf(item approval.Item) Notice {
	out := Notice{
		ID: item.ID, Person: item.Principal, Kind: "approval", Title: title(item), Path: "/inbox/" + item.ID,
		Urgent: true, Created: item.Created, Expires: item.Expires,
	}
	if item.RequestedBy != "" {
		out.Text = "asked by " + visible.Line(item.RequestedBy)
	}
	sealed := asked(item)
	if len(sealed) <= roomForText {
		out.Sealed = sealed
	}
	seen := utf8.RuneCountInString(sealed) <= shownOfText && strings.Count(sealed, "\n") < shownOfLines
	if seen && len(item.Questions) == 0 && item.Quorum <= 1 && !item.Policy.NotAsker {
		out.Approval = item.ID
	}
	return out
}

// asked is all of a question: where, what exactly, and who wants it by what.
func asked(item approval.Item) string {
	lines := []string{item.Target, string(item.Arguments)}
	if machines := item.Machines(); len(machines) > 0 {
		lines[0] = strings.Join(machines, ", ")
	}
	if via := item.Asker.Words(); via != "" {
		lines = append(lines, "by "+via)
	}
	if item.Taint != nil {
		lines = append(lines, "after words of "+item.Taint.By)
	}
	return visible.Text(strings.TrimSpace(strings.Join(lines, "\n")))
}

func title(item approval.Item) string {
	switch {
	case item.Kind == approval.KindAsk:
		return "An agent has a question"
	case item.Tool != "":
		return "May " + visible.Line(item.Tool) + " run?"
	case item.Title != "":
		return visible.Line(item.Title)
	default:
		return "Something waits for you"
	}
}
