package work

import (
	"context"
	"slices"

	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/protocol/viber"
)

// Submit hands over a goal and follows its task. What comes of it is shown, and answers
// the request.
func (d *Desk) Submit(ctx context.Context, who identity.Actor, req SubmitRequest, request string) error {
	// The task's id is known before the task is: news of it cannot come too early.
	id := ids.New()
	d.mu.Lock()
	d.begin(&Stream{TaskID: id, principal: who.Person.ID}, true)
	d.mu.Unlock()
	out, err := d.w.submit(ctx, who, req, id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || out.TaskID != id {
		delete(d.tasks, id)
	}
	switch {
	case err != nil:
		return err
	case out.Replay != nil:
		for _, ev := range out.Replay {
			d.screen.Show(Shown{Payload: ev, ReplyTo: request, Own: true})
			request = ""
		}
	case out.Running:
		d.screen.Show(Shown{Payload: viber.NewAlreadyRunning(out.TaskID, req.Key), ReplyTo: request, Own: true})
		// Somebody who follows it already goes on doing so.
		if t := d.tasks[out.TaskID]; t == nil || t.stream == nil {
			d.begin(out.Stream, true)
			d.pump(out.Stream, "")
		}
	default:
		d.begin(out.Stream, true)
		d.pump(out.Stream, request)
	}
	return nil
}

// Follow shows a task from an event on, in the place of what followed it before.
func (d *Desk) Follow(ctx context.Context, who identity.Actor, task string, after int64, request string) error {
	s, err := d.w.Follow(ctx, who, task, after)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.begin(s, false)
	d.screen.Show(Shown{Payload: s.Snapshot, ReplyTo: request, Followed: true, Own: t.own})
	d.pump(s, "")
	return nil
}

// Unfollow ends what Follow or Submit began. The answer is the task as it is; what
// happens to it from then on is shown as of any other.
func (d *Desk) Unfollow(ctx context.Context, who identity.Actor, task, request string) error {
	snap, err := d.w.Snapshot(ctx, who, task)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.screen.Show(Shown{Payload: snap, ReplyTo: request, Followed: true})
	t := d.tasks[snap.TaskID]
	if t == nil || t.stream == nil {
		return nil
	}
	t.stream, t.shown = nil, max(t.shown, snap.LastSeq)
	for _, ev := range t.later {
		if ev.Ref().Seq > t.shown {
			d.tell(ev, true)
		} else {
			d.showState(ev)
		}
	}
	t.later = nil
	if _, open := d.agents.open[snap.TaskID]; !open {
		t.heard = noNews // its end was heard
	}
	d.forget(snap.TaskID, t)
	return nil
}

// Stop ends a task. The end is shown in its place and answers the request.
func (d *Desk) Stop(ctx context.Context, who identity.Actor, task, reason, request string) error {
	key := stopKey(cleanID(task))
	d.await(key, request)
	out, whose, err := d.w.stopTask(ctx, who, task, reason)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && !out.Again && (whose == d.person || d.follows(out.Event.TaskID)) {
		return nil // it comes, or has come
	}
	if d.stopAwaiting(key, request) && err == nil {
		d.screen.Show(Shown{Payload: out.Event, ReplyTo: request, Own: true})
	}
	return err
}

// Answer decides a question, unless something did before. The decision is shown in its
// place and answers the request.
func (d *Desk) Answer(ctx context.Context, who identity.Actor, r *viber.ApprovalResponse, request string) error {
	key := approvalKey(r.ApprovalID)
	d.await(key, request)
	out, err := d.w.Answer(ctx, who, r)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && out.First && out.Resolved != nil && (out.shownTo(d.person) || d.follows(out.Resolved.TaskID)) {
		return nil // it comes, or has come
	}
	if !d.stopAwaiting(key, request) || err != nil {
		return err
	}
	var p viber.Payload = out.Required // more people must agree
	if out.Resolved != nil {
		p = out.Resolved
	}
	d.screen.Show(Shown{Payload: p, ReplyTo: request, Own: true})
	return nil
}

func stopKey(task string) string         { return "stop " + task }
func approvalKey(approval string) string { return "approval " + approval }

// follows needs mu.
func (d *Desk) follows(task string) bool {
	t := d.tasks[task]
	return t != nil && t.stream != nil
}

func (d *Desk) await(key, request string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.awaits[key] = append(d.awaits[key], request)
}

// stopAwaiting takes a request back; false if it was answered. It needs mu.
func (d *Desk) stopAwaiting(key, request string) bool {
	i := slices.Index(d.awaits[key], request)
	if i < 0 {
		return false
	}
	if d.awaits[key] = slices.Delete(d.awaits[key], i, i+1); len(d.awaits[key]) == 0 {
		delete(d.awaits, key)
	}
	return true
}

// answeredBy are the requests that something answers. It needs mu.
func (d *Desk) answeredBy(p viber.Payload) []string {
	var key string
	switch e := p.(type) {
	case *viber.TaskStopped:
		key = stopKey(e.TaskID)
	case *viber.ApprovalResolved:
		key = approvalKey(e.ApprovalID)
	default:
		return nil
	}
	list := d.awaits[key]
	delete(d.awaits, key)
	return list
}
