package work

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/identity"
	"parley.internal/internal/ids"
	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// defaultAgent does tasks that name nobody.
const defaultAgent = "parley"

// submitTries bounds how often a submit looks again after somebody else took its
// key between looking and reserving.
const submitTries = 8

// errKeyTaken says that another submit reserved the key first.
var errKeyTaken = errors.New("the key was taken meanwhile")

// Submit hands over a goal. See [API].
func (w *Work) Submit(ctx context.Context, who identity.Actor, req SubmitRequest) (*Submission, error) {
	return w.submit(ctx, who, req, ids.New())
}

// submit is Submit with the id that a new task will have.
func (w *Work) submit(ctx context.Context, who identity.Actor, req SubmitRequest, id string) (*Submission, error) {
	p, err := w.proposal(ctx, who, req)
	if err != nil {
		return nil, err
	}
	p.id = id
	for range submitTries {
		known, err := w.known(ctx, who, p)
		if err != nil || known != nil {
			return known, err
		}
		t, err := w.create(ctx, p)
		if errors.Is(err, errKeyTaken) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &Submission{TaskID: t.id, Stream: w.stream(&t.record, nil, 0)}, nil
	}
	return nil, ErrUnavailable
}

// proposal is a submit that makes sense.
type proposal struct {
	record
	agent  *brain.Agent
	digest string
}

// proposal refuses what can be refused without looking at the key.
func (w *Work) proposal(ctx context.Context, who identity.Actor, req SubmitRequest) (*proposal, error) {
	if w.tasks.Refusing() {
		return nil, ErrShuttingDown
	}
	s := req.Submit
	agent, err := w.agentFor(s.Opts().Agent, who.Sender())
	if err != nil {
		return nil, err
	}
	if err := checkArtifacts(w.workspace(who.Person.ID, agent), s.Artifacts); err != nil {
		return nil, err
	}
	digest, err := s.Digest()
	if err != nil {
		return nil, &viber.Violation{Reason: viber.ReasonBadPayload, Message: "the task cannot be written as JSON"}
	}
	p := &proposal{agent: agent, digest: digest}
	p.record = record{
		principal: who.Person.ID, agent: agent.Name, status: viber.TaskRunning, keyHash: keyHash(who.Person.ID, req.Key), goal: s.Goal, turn: 1,
		spec: spec{
			Key: req.Key, Mode: w.effectiveMode(who, s.Opts().Mode, agent), Submit: s, Origin: req.Origin, By: who, OwnFolder: true,
		},
		state: state{Plan: s.Plan, Reach: who.Scopes},
	}
	return p, nil
}

// agentFor finds the agent that does a task. One that does not serve this person
// looks like one that does not exist.
func (w *Work) agentFor(name, sender string) (*brain.Agent, error) {
	if name == "" {
		name = defaultAgent
	}
	agent, err := w.d.Agents.Get(name)
	if err != nil || !agent.AllowsSender(sender) {
		return nil, &viber.Violation{Reason: viber.ReasonUnknownAgent, Field: "/options/agent", Message: fmt.Sprintf("there is no agent %.80q that can do this", name)}
	}
	return agent, nil
}

// effectiveMode is what holds: the submitted mode or the agent's, never less
// strict than the policy's ceiling, and never unattended without the right to it.
func (w *Work) effectiveMode(who identity.Actor, mode viber.Mode, agent *brain.Agent) viber.Mode {
	if mode == "" {
		mode, _ = viber.ParseMode(agent.Mode)
	}
	if mode == "" {
		mode = viber.AgentDecides
	}
	if w.d.MaxMode != "" && w.d.MaxMode.Strictness() > mode.Strictness() {
		mode = w.d.MaxMode
	}
	if mode == viber.AlwaysExecute && !who.Scopes.Has(identity.TaskUnattended) {
		mode = viber.AgentDecides
	}
	return mode
}

// heldKey is a key in use.
type heldKey struct {
	task, digest string
	attempt      int
	free         bool
	expires      time.Time
}

func loadKey(tx *store.Tx, hash, lock string) (k heldKey, err error) {
	var free, expires int64
	err = tx.QueryRow(`SELECT task, digest, attempt, free, expires_at FROM work_keys WHERE hash = ?`+lock, hash).Scan(&k.task, &k.digest, &k.attempt, &free, &expires)
	k.free, k.expires = free == 1, store.Time(expires)
	return k, err
}

// over tells whether a new task may have the key.
func (k heldKey) over(now time.Time) bool {
	return k.free || !k.expires.IsZero() && !now.Before(k.expires)
}

// known answers a submit whose key is in use; nil means that it is not.
func (w *Work) known(ctx context.Context, who identity.Actor, p *proposal) (*Submission, error) {
	var k heldKey
	var r record
	var bounds eventlog.Bounds
	err := w.d.DB.Read(ctx, func(tx *store.Tx) (err error) {
		if k, err = loadKey(tx, p.keyHash, ""); err != nil {
			return err
		}
		if r, err = loadRecord(tx, k.task); err != nil {
			return err
		}
		bounds, err = eventlog.LastSeq(tx, streamName(k.task))
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows), errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case k.over(time.Now()):
		return nil, nil
	case k.digest != p.digest:
		return nil, ErrConflict
	case r.status.Ended():
		return replay(&r, bounds.Last)
	}
	stream, err := w.Follow(ctx, who, r.id, bounds.Last)
	if err != nil {
		return nil, err
	}
	return &Submission{TaskID: r.id, Running: true, Stream: stream}, nil
}

func replay(r *record, last int64) (*Submission, error) {
	end, err := r.endEventAt(last)
	if err != nil {
		return nil, err
	}
	started := r.startedEvent()
	started.Replayed = true
	return &Submission{TaskID: r.id, Replay: []viber.TaskEvent{started, end}}, nil
}

// create makes the task durable and starts it.
func (w *Work) create(ctx context.Context, p *proposal) (*task, error) {
	if err := w.affordable(ctx, p); err != nil {
		return nil, err
	}
	undo, err := w.pace(p.principal)
	if err != nil {
		return nil, err
	}
	t, err := w.reserve(p)
	if err == nil {
		err = w.insert(ctx, t, p)
	}
	if err != nil {
		undo()
		return nil, err
	}
	w.note(t, audit.TaskSubmitted, "", 0, map[string]any{"mode": string(p.spec.Mode), "asked_mode": string(p.spec.Submit.Opts().Mode), "goal": digestText(p.goal)})
	go t.run(nil)
	return t, nil
}

// insert reserves the key and writes the task, whose it is and its first event in
// one transaction. The task stays registered only if that succeeds.
func (w *Work) insert(ctx context.Context, t *task, p *proposal) error {
	t.lease = w.d.Leases.New(leaseName(t.id))
	var added eventlog.Appended
	err := w.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if err := t.lease.Claim(tx); err != nil {
			return err
		}
		if t.spec.Attempt, err = w.reserveKey(tx, p); err != nil {
			return err
		}
		if err := w.holdFiles(tx, &t.record); err != nil {
			return badFile(err)
		}
		t.started = time.UnixMilli(time.Now().UnixMilli()).UTC()
		if err := t.record.insert(tx); err != nil {
			return err
		}
		first, err := encodeEvent(t.startedEvent())
		if err != nil {
			return err
		}
		first.At = t.started
		added, err = w.d.Log.AppendTx(tx, nil, streamName(t.id), first)
		return err
	})
	if err != nil {
		w.forget(t)
		return err
	}
	t.lease.Claimed()
	w.d.Log.Publish(added)
	t.seq = 1
	return nil
}

// reserveKey counts the person's running tasks and takes the key, under the
// person's lock.
func (w *Work) reserveKey(tx *store.Tx, p *proposal) (attempt int, err error) {
	if _, err := tx.Exec(`INSERT INTO work_people (principal, submits) VALUES (?, 1) ON CONFLICT (principal) DO UPDATE SET submits = work_people.submits + 1`, p.principal); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(`INSERT INTO work_keys (hash, task, digest, attempt, free, expires_at) VALUES (?, ?, ?, 1, 0, 0) ON CONFLICT (hash) DO NOTHING`, p.keyHash, p.id, p.digest); err != nil {
		return 0, err
	}
	k, err := loadKey(tx, p.keyHash, tx.ForUpdate())
	if err != nil {
		return 0, err
	}
	if k.task != p.id {
		if !k.over(time.Now()) {
			return 0, errKeyTaken
		}
		if k.attempt++; !k.free {
			k.attempt = 1
		}
		_, err := tx.Exec(`UPDATE work_keys SET task = ?, digest = ?, attempt = ?, free = 0, expires_at = 0 WHERE hash = ?`, p.id, p.digest, k.attempt, p.keyHash)
		if err != nil {
			return 0, err
		}
	}
	return k.attempt, w.room(tx, p.principal)
}

// waitingPerRunning is how many tasks of a person may wait for people, for each that may run.
const waitingPerRunning = 10

// room refuses a task of somebody who has too many. One that waits for a person may do so for
// days: it does not take the place of one that runs.
func (w *Work) room(tx *store.Tx, principal string) error {
	var all, waiting int
	err := tx.QueryRow(`SELECT count(*), coalesce(sum(CASE WHEN status = ? THEN 1 ELSE 0 END), 0) FROM work_tasks WHERE principal = ? AND ended_at = 0`,
		string(viber.TaskPaused), principal).Scan(&all, &waiting)
	most := w.d.Limits.RunningPerPrincipal
	switch running := all - waiting; {
	case err != nil:
		return err
	case running >= most:
		return tooManyTasks(fmt.Sprintf("you have %d running tasks, which is the limit", running))
	case waiting >= most*waitingPerRunning:
		return tooManyTasks(fmt.Sprintf("%d of your tasks wait for people, which is the limit", waiting))
	}
	return nil
}

func tooManyTasks(text string) error {
	return &LimitError{Reason: viber.ReasonTooManyTasks, Message: text, RetryAfter: viber.RetryBusy}
}
