package notify

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"parley/internal/approval"
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
		return n.Tell(ctx, noticeOf(ev.Item))
	case approval.Resolved:
		return n.withdraw(ctx, ev.Item.ID)
	default:
		return nil
	}
}

// roomForArguments keeps a sealed message below what push services carry.
const roomForArguments = 1500

// noticeOf says what waits. The question can be answered from the notice only if
// all of it is shown: one never agrees to what one has not seen.
func noticeOf(item approval.Item) Notice {
	out := Notice{
		ID: item.ID, Person: item.Principal, Kind: "approval", Title: title(item), Path: "/inbox/" + item.ID,
		Urgent: true, Created: item.Created, Expires: item.Expires,
	}
	if item.RequestedBy != "" {
		out.Text = "asked by " + item.RequestedBy
	}
	sealed := string(item.Arguments)
	if item.Target != "" {
		sealed = item.Target + "\n" + sealed
	}
	whole := len(sealed) <= roomForArguments && utf8.ValidString(sealed)
	if whole {
		out.Sealed = sealed
	}
	if whole && len(item.Questions) == 0 && item.Quorum <= 1 {
		out.Approval = item.ID
	}
	return out
}

func title(item approval.Item) string {
	switch {
	case item.Kind == approval.KindAsk:
		return "An agent has a question"
	case item.Tool != "":
		return "May " + item.Tool + " run?"
	case item.Title != "":
		return item.Title
	default:
		return "Something waits for you"
	}
}
