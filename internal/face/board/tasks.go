package board

import (
	"context"
	"time"

	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
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
	if err := r.c.desk.Submit(ctx, r.who(), work.SubmitRequest{Key: p.Key(r.id), Submit: p, Origin: r.c.id}, r.id); err != nil {
		r.fail(err, "")
	}
}

// stopTime is how long a stop may take at most, and some.
const stopTime = 15 * time.Second

// stop ends a task. It takes seconds, so the lane does not wait for it.
func (r *request) stop(p *viber.TaskStop) {
	r.c.work.Go(func() {
		r.guard(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.c.ctx), stopTime)
			defer cancel()
			if err := r.c.desk.Stop(ctx, r.who(), p.TaskID, p.Reason, r.id); err != nil {
				r.fail(err, p.TaskID)
			}
		})
	})
}

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
	if err := r.c.desk.Follow(ctx, r.who(), p.TaskID, p.AfterSeq, r.id); err != nil {
		r.fail(err, p.TaskID)
	}
}

// unsubscribe ends what resume or submit began. The answer is the task as it is.
func (r *request) unsubscribe(p *viber.TaskUnsubscribe) {
	ctx, cancel := r.call()
	defer cancel()
	if err := r.c.desk.Unfollow(ctx, r.who(), p.TaskID, r.id); err != nil {
		r.fail(err, p.TaskID)
	}
}
