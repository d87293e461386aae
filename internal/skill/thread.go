package skill

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp/meeting"
)

// Thread is a discussion or a negotiation of one agent.
type Thread struct {
	ID          string
	Agent       string
	Kind        string // discussion or negotiation
	Peer        string
	Place       string
	State       meeting.ThreadState
	Discussion  *meeting.Discussion
	Negotiation *meeting.Negotiation
	// Approval is the question whether to agree, while it waits.
	Approval string
	Active   time.Time

	me string
}

const threadColumns = `me, id, agent, kind, peer, place, state, body, approval, active_at`

func scanThread(row store.Row) (Thread, error) {
	var t Thread
	var body string
	var active int64
	err := row.Scan(&t.me, &t.ID, &t.Agent, &t.Kind, &t.Peer, &t.Place, &t.State, &body, &t.Approval, &active)
	if errors.Is(err, sql.ErrNoRows) {
		return t, ErrNotFound
	}
	if err != nil {
		return t, err
	}
	t.Active = store.Time(active)
	if t.Kind == meeting.ExtensionDiscussion {
		return t, json.Unmarshal([]byte(body), &t.Discussion)
	}
	return t, json.Unmarshal([]byte(body), &t.Negotiation)
}

func (t *Thread) save(tx *store.Tx) error {
	var body []byte
	var err error
	if t.Kind == meeting.ExtensionDiscussion {
		t.State, t.Active = t.Discussion.State, t.Discussion.Active
		body, err = json.Marshal(t.Discussion)
	} else {
		t.State, t.Active = t.Negotiation.State, t.Negotiation.Active
		body, err = json.Marshal(t.Negotiation)
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO skill_threads (`+threadColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (me, id) DO UPDATE SET state = excluded.state, body = excluded.body, approval = excluded.approval, active_at = excluded.active_at`,
		t.me, t.ID, t.Agent, t.Kind, t.Peer, t.Place, string(t.State), fit.Storable(string(body)), t.Approval, store.Micros(t.Active))
	return err
}

// apply moves a thread by one message.
func (t *Thread) apply(m meeting.Message, now time.Time) error {
	if t.Kind == meeting.ExtensionDiscussion {
		next, err := t.Discussion.Apply(m, now)
		t.Discussion = &next
		return err
	}
	next, err := t.Negotiation.Apply(m, now)
	t.Negotiation = &next
	return err
}

func newThread(h Host, at, peer string, m meeting.Message, now time.Time) (Thread, error) {
	t := Thread{me: h.ID, ID: m.ID, Agent: h.Name, Peer: peer, Place: at}
	if m.Action == meeting.ActionPropose {
		d, err := meeting.OpenDiscussion(m, now)
		t.Kind, t.Discussion = meeting.ExtensionDiscussion, &d
		return t, err
	}
	n, err := meeting.OpenNegotiation(m, now)
	t.Kind, t.Negotiation = meeting.ExtensionNegotiation, &n
	return t, err
}

// threadOf finds the thread a message answers: by its id, or by its latest terms.
func threadOf(tx *store.Tx, me, peer, reply string) (Thread, error) {
	t, err := scanThread(tx.QueryRow(`SELECT `+threadColumns+` FROM skill_threads WHERE me = ? AND id = ?`, me, reply))
	if !errors.Is(err, ErrNotFound) || reply == "" {
		return t, err
	}
	found := Thread{}
	err = tx.Each(func(row *sql.Rows) error {
		t, err := scanThread(row)
		if err == nil && t.Negotiation != nil && t.Negotiation.TermsID == reply {
			found = t
		}
		return err
	}, `SELECT `+threadColumns+` FROM skill_threads WHERE me = ? AND peer = ? AND kind = 'negotiation' AND state = 'open'`, me, peer)
	if err == nil && found.ID == "" {
		err = ErrNotFound
	}
	return found, err
}

// maxThreads is how many open ones a peer may have with one agent.
const maxThreads = 100

// thread takes a message of a discussion or negotiation.
func (t *turn) thread() (meeting.Result, error) {
	if t.m.Action == meeting.ActionPropose || t.m.Action == meeting.ActionOffer {
		return t.openThread()
	}
	th, err := threadOf(t.tx, t.host.ID, t.from.ID, t.m.RepliesTo())
	if errors.Is(err, ErrNotFound) || err == nil && th.Kind == meeting.ExtensionDiscussion && th.Peer != t.from.ID {
		return t.m.InvalidResult(t.host.ID, meeting.CodeInvalidPayload, "No such thread", t.now)
	}
	if err != nil {
		return meeting.Result{}, err
	}
	failed := th.apply(t.m, t.now)
	if err := th.save(t.tx); err != nil {
		return meeting.Result{}, err
	}
	if failed != nil {
		return t.invalid(failed)
	}
	return t.threadResult(th), nil
}

func (t *turn) openThread() (meeting.Result, error) {
	var open int
	if err := t.tx.QueryRow(`SELECT count(*) FROM skill_threads WHERE me = ? AND peer = ? AND state = 'open'`, t.host.ID, t.from.ID).Scan(&open); err != nil {
		return meeting.Result{}, err
	}
	if open >= maxThreads {
		return t.m.InvalidResult(t.host.ID, meeting.CodeRateLimited, "Too many open threads", t.now)
	}
	if t.m.To == nil {
		t.m.To = &t.host.ID
	}
	th, err := newThread(t.host, t.place, t.from.ID, t.m, t.now)
	if err != nil {
		return t.invalid(err)
	}
	if _, err := scanThread(t.tx.QueryRow(`SELECT `+threadColumns+` FROM skill_threads WHERE me = ? AND id = ?`, t.host.ID, t.m.ID)); err == nil {
		return t.m.InvalidResult(t.host.ID, meeting.CodeInvalidPayload, "This thread is open already", t.now)
	}
	return t.threadResult(th), th.save(t.tx)
}

func (t *turn) threadResult(th Thread) meeting.Result {
	return t.result(meeting.ResultReceived, nil, map[string]any{"thread_id": th.ID, "state": th.State})
}

// Threads lists the newest.
func (a Acting) Threads(ctx context.Context, limit int) ([]Thread, error) {
	out := []Thread{}
	mine, err := a.reach(ctx)
	if err != nil {
		return nil, err
	}
	agents, args := mine.Where("agent")
	err = a.s.d.DB.Read(ctx, func(tx *store.Tx) error {
		out = out[:0]
		return tx.Each(store.IntoBy(&out, scanThread), `SELECT `+threadColumns+` FROM skill_threads WHERE `+agents+` ORDER BY active_at DESC, id LIMIT ?`, append(args, limit)...)
	})
	return out, err
}

// Say makes a move in a discussion or negotiation, or opens one with propose or
// offer. To agree, a person is asked first.
func (a Acting) Say(ctx context.Context, agent, at, to, action, thread string, payload any) (th Thread, err error) {
	if action == meeting.ActionAgree {
		return a.askAgree(ctx, agent, thread)
	}
	err = a.speak(ctx, words{moveTool(action), agent, at, to, payload}, func(tx *store.Tx, h Host) error {
		th, err = a.s.say(tx, h, at, to, action, thread, payload)
		return err
	})
	return th, err
}

// moveTool is the name that rules know a move by: that of its tool over MCP.
func moveTool(action string) string {
	if extensionOf(action) == meeting.ExtensionNegotiation {
		return "negotiation_" + action
	}
	return "discussion_" + action
}

// extensionOf is what a peer must have for a move.
func extensionOf(action string) string {
	if action == meeting.ActionOffer || action == meeting.ActionCounter || action == meeting.ActionAgree || action == meeting.ActionWithdraw {
		return meeting.ExtensionNegotiation
	}
	return meeting.ExtensionDiscussion
}

func (s *Skills) say(tx *store.Tx, h Host, at, to, action, thread string, payload any) (Thread, error) {
	if err := allowed(tx, h.ID, to, extensionOf(action)); err != nil {
		return Thread{}, err
	}
	m, err := meeting.NewMessage(action, h.ID, to, payload, s.now())
	if err != nil {
		return Thread{}, err
	}
	var th Thread
	if action == meeting.ActionPropose || action == meeting.ActionOffer {
		th, err = newThread(h, at, to, m, s.now())
	} else {
		if th, err = threadOf(tx, h.ID, to, thread); err != nil {
			return th, err
		}
		m.InReplyTo = &th.ID
		if th.Negotiation != nil {
			m.InReplyTo = &th.Negotiation.TermsID
		}
		err = th.apply(m, s.now())
	}
	if err != nil {
		return th, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return th, errors.Join(th.save(tx), s.enqueue(tx, h, th.Place, m, false))
}

// askAgree puts the latest terms before a person. What was shown is what is agreed
// to: the hash of the terms is in the question, and other terms need another yes.
func (a Acting) askAgree(ctx context.Context, agent, thread string) (th Thread, err error) {
	h, err := a.host(ctx, agent)
	if err != nil {
		return th, err
	}
	err = a.s.d.DB.Write(ctx, func(tx *store.Tx) error {
		if th, err = scanThread(tx.QueryRow(`SELECT `+threadColumns+` FROM skill_threads WHERE me = ? AND id = ?`+tx.ForUpdate(), h.ID, thread)); err != nil {
			return err
		}
		if th.Negotiation == nil || th.Negotiation.ExpireIdle(a.s.now()).State != meeting.ThreadOpen || th.Negotiation.Last == h.ID {
			return ErrState
		}
		th.Approval = questionID("agree", h.ID, th.ID, th.Negotiation.TermsHash)
		return th.save(tx)
	})
	if err != nil {
		return th, err
	}
	return th, a.s.putAgree(ctx, h, th)
}

func (s *Skills) putAgree(ctx context.Context, h Host, th Thread) error {
	n := *th.Negotiation
	args, err := json.Marshal(map[string]any{"thread": th.ID, "with": th.Peer, "terms": n.Terms, "terms_hash": n.TermsHash})
	if err != nil {
		return err
	}
	err = s.question(ctx, h.Name, approval.Request{
		ID: th.Approval, Kind: approval.KindNote, Title: "Agree with " + th.Peer, Tool: "negotiation_agree", Arguments: args, Target: h.Name,
		Reason: "an agreement triggers nothing by itself", RequestedBy: "agent:" + h.Name, Timeout: meeting.NegotiationIdle,
	})
	if err != nil {
		return err
	}
	s.await(th.Approval, func(ctx context.Context, o approval.Outcome) error { return s.agree(ctx, h, th.ID, n.TermsHash, o) })
	return nil
}

func (s *Skills) agree(ctx context.Context, h Host, id, hash string, o approval.Outcome) error {
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		th, err := scanThread(tx.QueryRow(`SELECT `+threadColumns+` FROM skill_threads WHERE me = ? AND id = ?`+tx.ForUpdate(), h.ID, id))
		if err != nil {
			return err
		}
		if th.Approval == "" || th.Negotiation.TermsHash != hash || th.Negotiation.State != meeting.ThreadOpen {
			return nil
		}
		th.Approval = ""
		if err := th.save(tx); err != nil || !o.Approved() {
			return err
		}
		_, err = s.say(tx, h, th.Place, th.Peer, meeting.ActionAgree, th.ID, map[string]string{"terms_hash": hash})
		if err != nil {
			return err
		}
		return s.d.Trail.AppendTx(tx, audit.Entry{Actor: firstText(o.By, "hub"), Action: audit.NegotiationAgreed, Target: id, Digest: hash, Detail: map[string]any{"with": th.Peer}})
	})
	s.wake.Ring()
	return err
}

// sweepThreads expires what is idle and waits again for what a person was asked.
func (s *Skills) sweepThreads(ctx context.Context, h Host) error {
	var open []Thread
	err := s.d.DB.Write(ctx, func(tx *store.Tx) error {
		open = open[:0]
		err := tx.Each(store.IntoBy(&open, scanThread), `SELECT `+threadColumns+` FROM skill_threads WHERE me = ? AND state = 'open' LIMIT 1000`, h.ID)
		if err != nil {
			return err
		}
		for i := range open {
			if err := open[i].expireIdle(tx, s.now()); err != nil {
				return err
			}
		}
		return nil
	})
	for _, th := range open {
		if th.Approval != "" && th.State == meeting.ThreadOpen {
			err = errors.Join(err, s.putAgree(ctx, h, th))
		}
	}
	return err
}

func (t *Thread) expireIdle(tx *store.Tx, now time.Time) error {
	if t.Discussion != nil {
		*t.Discussion = t.Discussion.ExpireIdle(now)
		if t.Discussion.State == meeting.ThreadOpen {
			return nil
		}
	} else if *t.Negotiation = t.Negotiation.ExpireIdle(now); t.Negotiation.State == meeting.ThreadOpen {
		return nil
	}
	return t.save(tx)
}
