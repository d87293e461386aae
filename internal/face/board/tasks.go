package board

import (
	"context"
	"time"

	"parley/internal/identity"
	"parley/internal/work"
	"parley/protocol/viber"
)

// call bounds a call into the domain that ends with the connection.
func (r *request) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.c.ctx, callTime)
}

// act bounds a call that changes something: what a client said before it left
// still counts.
func (r *request) act() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.c.ctx), callTime)
}

// submit hands over a goal and follows the task.
func (r *request) submit(p *viber.TaskSubmit) {
	ctx, cancel := r.act()
	defer cancel()
	out, err := r.c.face.d.Work.Submit(ctx, r.who(), work.SubmitRequest{Key: p.Key(r.id), Submit: p, Origin: r.c.id})
	if err != nil {
		r.fail(err, "")
		return
	}
	switch {
	case out.Replay != nil:
		for i, event := range out.Replay {
			r.replayed(event, i == 0)
		}
	case out.Running:
		r.answer(viber.NewAlreadyRunning(out.TaskID, p.Key(r.id)))
		// Somebody who follows it already goes on doing so.
		r.c.follow(out.Stream, followOptions{own: true, keep: true})
	default:
		r.c.follow(out.Stream, followOptions{own: true, replyTo: r.id})
	}
}

// replayed shows how an earlier task of the key went.
func (r *request) replayed(event viber.TaskEvent, first bool) {
	id := ""
	if first {
		id = r.id
	}
	r.c.send(event, id)
}

// stopTime is how long a stop may take at most, and some.
const stopTime = 15 * time.Second

// stop ends a task. It takes seconds, so the lane does not wait for it.
func (r *request) stop(p *viber.TaskStop) {
	r.c.work.Go(func() {
		r.guard(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.c.ctx), stopTime)
			defer cancel()
			// The end comes as an event, in its place; that is the answer.
			claim := r.c.claim(stopKey(p.TaskID), r.id)
			out, err := r.c.face.d.Work.Stop(ctx, r.who(), p.TaskID, p.Reason)
			switch {
			case err != nil:
				r.c.unclaim(claim)
				r.fail(err, p.TaskID)
			case out.Again:
				r.c.unclaim(claim)
				r.answer(out.Event)
			default:
				r.c.awaitClaim(claim, out.Event, r.c.following(p.TaskID))
			}
		})
	})
}

func stopKey(task string) string { return "stop " + task }

func (r *request) message(p *viber.TaskMessage) {
	ctx, cancel := r.act()
	defer cancel()
	ack, err := r.c.face.d.Work.Message(ctx, r.who(), work.MessageRequest{Task: p.TaskID, Message: p.Message, Mode: p.InjectionMode, RequestID: r.id})
	if err != nil {
		r.fail(err, p.TaskID)
		return
	}
	r.answer(ack)
}

func (r *request) list(p *viber.TaskList) {
	ctx, cancel := r.call()
	defer cancel()
	list, err := r.c.face.d.Work.List(ctx, r.who(), *p)
	if err != nil {
		r.fail(err, "")
		return
	}
	r.answer(list)
}

// resume gives a task from an event on. On the same connection it takes the place
// of what followed the task before.
func (r *request) resume(p *viber.TaskResume) {
	ctx, cancel := r.call()
	defer cancel()
	stream, err := r.c.face.d.Work.Follow(ctx, r.who(), p.TaskID, p.AfterSeq)
	if err != nil {
		r.fail(err, p.TaskID)
		return
	}
	r.c.follow(stream, followOptions{replyTo: r.id, after: p.AfterSeq})
}

// unsubscribe ends what resume or submit began. The answer is the task as it is.
func (r *request) unsubscribe(p *viber.TaskUnsubscribe) {
	ctx, cancel := r.call()
	defer cancel()
	snapshot, err := r.c.face.d.Work.Snapshot(ctx, r.who(), p.TaskID)
	if err != nil {
		r.fail(err, p.TaskID)
		return
	}
	r.c.unfollow(p.TaskID)
	r.answer(r.c.shown(snapshot))
}

// shown is a snapshot without what the connection may not see.
func (c *conn) shown(s *viber.TaskSnapshot) *viber.TaskSnapshot {
	if s == nil || c.may(identity.ApprovalRead) {
		return s
	}
	cut := *s
	cut.PendingApprovals = []viber.ApprovalRequired{}
	return &cut
}
