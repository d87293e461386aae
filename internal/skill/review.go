package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/ids"
	"parley.internal/internal/scan"
	"parley.internal/internal/store"
	"parley.internal/internal/visible"
	"parley.internal/protocol/mmp/meeting"
)

// Acknowledge is the answer that says a danger was read; there is a question for
// each.
const Acknowledge = "acknowledged"

// shown is what a person sees of a skill before deciding: all of its text, never markup.
type shown struct {
	Skill       string             `json:"skill"`
	Name        string             `json:"name"`
	Agent       string             `json:"agent"`
	Sender      string             `json:"sender"`
	Level       Level              `json:"level"`
	KeyID       string             `json:"key_id,omitempty"`
	Hash        string             `json:"hash"`
	Bytes       int                `json:"bytes"`
	Unsolicited bool               `json:"unsolicited,omitempty"`
	Provenance  meeting.Provenance `json:"provenance"`
	Verified    []bool             `json:"verified"`
	Findings    []scan.Finding     `json:"findings"`
	Text        string             `json:"text"`
	Diff        string             `json:"diff,omitempty"`
	Agents      []string           `json:"agents,omitempty"`
}

// ask puts a quarantined skill before a person and waits for the decision in the
// background. Asking twice is harmless: the question has the same id.
func (s *Skills) ask(ctx context.Context, id string) {
	review, err := s.review(ctx, id)
	if err == nil && review.State == StateQuarantined {
		err = s.put(ctx, review)
	}
	if err != nil && ctx.Err() == nil {
		s.d.Log.Warn("skills: asking about a skill; it will be tried again", "skill", id, "error", err)
		return
	}
	s.await(review.Approval, func(ctx context.Context, o approval.Outcome) error { return s.decide(ctx, id, o) })
}

// Ask puts a quarantined skill before a person who has looked at it. A stranger's
// skill asks nobody by itself.
func (a Acting) Ask(ctx context.Context, id string) (Item, error) {
	item, err := a.Get(ctx, id)
	if err != nil {
		return Item{}, err
	}
	if item.State != StateQuarantined {
		return Item{}, ErrState
	}
	a.s.ask(ctx, id)
	return a.Get(ctx, id)
}

func (s *Skills) put(ctx context.Context, r Review) error {
	args, err := json.Marshal(shown{
		Skill: r.ID, Name: visible.Line(r.Title), Agent: r.Agent, Sender: r.Sender, Level: r.Level, KeyID: r.KeyID, Hash: r.Hash, Bytes: r.Size,
		Unsolicited: r.Unsolicited, Provenance: r.Provenance, Verified: r.Verified, Findings: r.Findings, Text: r.Source, Diff: r.Diff,
		Agents: r.Agents,
	})
	if err != nil {
		return err
	}
	return s.question(ctx, r.Agent, approval.Request{
		ID: r.Approval, Kind: approval.KindSkill, Title: "Use the skill " + fit.Clip(visible.Line(r.Title), 100) + " from " + r.Sender, Tool: "skill", Arguments: args,
		Target: r.Agent, Reason: fmt.Sprintf("sent by %s (%s), %d hop(s), %d finding(s)", r.Sender, r.Level, r.Provenance.HopCount, len(r.Findings)),
		RequestedBy: "agent:" + r.Agent, Questions: append(dangers(r.Findings), forWhom(r)...), Timeout: max(r.Received.Add(meeting.QuarantineTTL).Sub(s.now()), time.Minute),
	})
}

// question asks whose the agent is, or the hub's owner; a question that is there
// already is fine.
func (s *Skills) question(ctx context.Context, agent string, r approval.Request) (err error) {
	if r.Principal, err = s.d.PersonOf(ctx, agent); err == nil && r.Principal == "" {
		r.Principal, err = s.d.Owner(ctx)
	}
	if err != nil {
		return err
	}
	if s.awaited(r.ID) {
		return nil
	}
	if _, err = s.d.Inbox.Ask(ctx, r); errors.Is(err, approval.ErrInvalid) {
		return nil // it was asked before
	}
	return err
}

// dangers are acknowledged one by one.
func dangers(findings []scan.Finding) []approval.Question {
	var out []approval.Question
	for _, f := range findings {
		if f.Severity == scan.Danger {
			out = append(out, approval.Question{
				Header: "Danger", Question: f.String(),
				Options: []approval.Option{{Label: Acknowledge, Description: "I have read this and still want the skill"}},
			})
		}
	}
	return out
}

// forWhom asks which agents may use the skill, where there is a choice. It comes
// behind the dangers.
func forWhom(r Review) []approval.Question {
	if len(r.MayUse) < 2 {
		return nil
	}
	q := approval.Question{Header: "Agents", Question: "Which agents may use it?", MultiSelect: true}
	for _, name := range r.MayUse {
		o := approval.Option{Label: name}
		if name == r.Agent {
			o.Description = "it was sent to this one"
		}
		q.Options = append(q.Options, o)
	}
	q.Options = append(q.Options, approval.Option{Label: EveryAgent, Description: "whoever's file lists it"})
	return []approval.Question{q}
}

// EveryAgent is the answer that names nobody in particular.
const EveryAgent = "every agent"

// named reads the answer behind the dangers: names with commas between. Without
// one the approval holds for the agents of the version in use, or for the agent the
// skill was sent to.
func named(item Item, old []string, answers []string) []string {
	var out []string
	if n := len(dangers(item.Findings)); n < len(answers) {
		for name := range strings.SplitSeq(answers[n], ",") {
			name = fit.Clip(fit.Storable(strings.TrimSpace(name)), 64)
			if strings.EqualFold(name, EveryAgent) || name == AllAgents {
				return []string{AllAgents}
			}
			if name != "" && !slices.Contains(out, name) && len(out) < 100 {
				out = append(out, name)
			}
		}
	}
	switch {
	case len(out) > 0:
		return out
	case len(old) > 0:
		return old
	}
	return []string{item.Agent}
}

// awaited tells whether somebody waits for the answer already.
func (s *Skills) awaited(question string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[question]
}

// await acts on a decision, now or whenever it comes; once for each question.
func (s *Skills) await(question string, act func(context.Context, approval.Outcome) error) {
	s.mu.Lock()
	run := s.run
	if run == nil || question == "" || s.watched[question] {
		s.mu.Unlock()
		return
	}
	s.watched[question] = true
	s.mu.Unlock()
	s.done.Go(func() {
		defer func() {
			s.mu.Lock()
			delete(s.watched, question)
			s.mu.Unlock()
		}()
		p, err := s.d.Inbox.Resume(run, question)
		if err != nil {
			return // the sweep asks again
		}
		outcome, err := p.Wait(run)
		if err == nil {
			err = act(run, outcome)
		}
		if err != nil && run.Err() == nil && !errors.Is(err, approval.ErrClosed) {
			s.d.Log.Warn("skills: acting on a decision; it will be tried again", "approval", question, "error", err)
		}
	})
}

// decide does what a person said about a skill; time and cancelling say no.
func (s *Skills) decide(ctx context.Context, id string, o approval.Outcome) error {
	item, err := s.item(ctx, id)
	if err != nil {
		return err
	}
	whom, err := s.audienceOf(ctx, item.Agent)
	if err != nil {
		return err
	}
	asked := ""
	err = s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		asked = ""
		if item, err = loadItem(tx, id); err != nil {
			return err
		}
		if item.State != StateQuarantined {
			return nil // decided before
		}
		if o.Approved() && !acknowledged(item.Findings, o.Answers) {
			item.Approval = ids.New()
			asked = item.Approval
			return item.saveDecision(tx)
		}
		item.Decided, item.DecidedBy, item.Reason = s.now(), o.By, firstText(o.Reason, string(o.State))
		if o.Approved() {
			err = s.approve(tx, &item, whom, o.Answers)
		} else {
			err = s.reject(tx, &item)
		}
		if err != nil {
			return err
		}
		return s.d.Trail.AppendTx(tx, audit.Entry{
			Actor: firstText(o.By, "hub"), Action: decisions[item.State], Target: item.ID, Digest: item.Hash,
			Detail: map[string]any{"agent": item.Agent, "sender": item.Sender, "name": item.Name, "for": strings.Join(item.Agents, ",")},
		})
	})
	if err != nil {
		return err
	}
	if asked != "" {
		s.ask(ctx, id)
		return nil
	}
	s.wake.Ring()
	return s.writeFile(ctx, item)
}

func acknowledged(findings []scan.Finding, answers []string) bool {
	n := len(dangers(findings))
	said := 0
	for _, a := range answers[:min(n, len(answers))] {
		if strings.EqualFold(strings.TrimSpace(a), Acknowledge) {
			said++
		}
	}
	return said >= n
}

// approve puts a skill into use under a name that is nobody else's.
func (s *Skills) approve(tx *store.Tx, item *Item, whom audience, answers []string) error {
	old, err := inUse(tx, *item)
	item.Agents = whom.keep(item.Agent, named(*item, old.Agents, answers))
	switch {
	case err == nil:
		item.Name = old.Name
		old.State, old.Decided = StateReplaced, s.now()
		if err := old.saveDecision(tx); err != nil {
			return err
		}
	case errors.Is(err, ErrNotFound):
		if item.Name, err = s.freeName(tx, *item); err != nil {
			return err
		}
	default:
		return err
	}
	item.State = StateApproved
	if s.c.Dir != "" {
		item.File = meeting.ReceivedFile(item.Title, item.Received)
	}
	if err := item.saveDecision(tx); err != nil {
		return err
	}
	return s.finish(tx, *item, meeting.ExApproved, meeting.ActionReflect, meeting.ReflectPayload{Reflection: "Received, verified and approved: " + fit.Clip(item.Title, 100)})
}

// freeName never gives a received skill the name of one that is here.
func (s *Skills) freeName(tx *store.Tx, item Item) (string, error) {
	used, err := listItems(tx, `WHERE state = 'approved'`)
	if err != nil {
		return "", err
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(used, func(i Item) bool { return i.Name == name }) ||
			slices.ContainsFunc(s.d.Own(item.Agent), func(o Own) bool { return o.ID == name })
	}
	name := meeting.LocalName(item.Title, item.Provenance.Origin, taken)
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s~%s_%d", meeting.SafeName(item.Title), meeting.SafeName(item.Provenance.Origin), n)
	}
	return name, nil
}

// reject deletes the content and refuses it for a while.
func (s *Skills) reject(tx *store.Tx, item *Item) error {
	item.State, item.Content = StateRejected, ""
	if err := item.saveDecision(tx); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO skill_refused (me, hash, until) VALUES (?, ?, ?) ON CONFLICT (me, hash) DO UPDATE SET until = excluded.until`,
		item.me, item.Hash, store.Micros(s.now().Add(refusedFor)))
	if err != nil {
		return err
	}
	return s.finish(tx, *item, meeting.ExRejected, meeting.ActionDecline, meeting.DeclinePayload{Reason: meeting.DeclineUser})
}

// finish ends the exchange and tells the other side, unless it came unasked.
func (s *Skills) finish(tx *store.Tx, item Item, state meeting.ExchangeState, action string, payload any) error {
	e, err := scanExchange(tx.QueryRow(`SELECT `+exchangeColumns+` FROM skill_exchanges WHERE id = ?`, item.Exchange))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.become(tx, state, s.now()); err != nil && !errors.Is(err, ErrState) {
		return err
	}
	if item.Unsolicited || !e.Relayed {
		return nil
	}
	m, err := meeting.NewMessage(action, item.me, item.Sender, payload, s.now())
	if err != nil {
		return err
	}
	m.InReplyTo = &e.Opening
	return s.enqueue(tx, Host{ID: item.me, Name: item.Agent}, item.Place, m, false)
}

// Revoke takes a skill out of use.
func (a Acting) Revoke(ctx context.Context, id, reason string) (Item, error) {
	item, err := a.Get(ctx, id)
	if err != nil {
		return Item{}, err
	}
	by := a.who.String()
	err = a.s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if item, err = loadItem(tx, id); err != nil {
			return err
		}
		if item.State != StateApproved {
			return ErrState
		}
		item.State, item.Public, item.Decided, item.DecidedBy, item.Reason = StateRevoked, false, a.s.now(), by, reason
		if err := item.saveDecision(tx); err != nil {
			return err
		}
		return a.s.d.Trail.AppendTx(tx, audit.Entry{Actor: by, Action: audit.SkillRevoked, Target: id, Digest: item.Hash, Detail: map[string]any{"name": item.Name}})
	})
	if err != nil {
		return Item{}, err
	}
	return item, a.s.removeFile(item)
}

// Publish lets an approved skill be handed on to others, or keeps it here.
func (a Acting) Publish(ctx context.Context, id string, public bool) (Item, error) {
	item, err := a.Get(ctx, id)
	if err != nil {
		return Item{}, err
	}
	err = a.s.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if item, err = loadItem(tx, id); err != nil {
			return err
		}
		if item.State != StateApproved {
			return ErrState
		}
		item.Public = public
		if err := item.saveDecision(tx); err != nil {
			return err
		}
		return a.s.d.Trail.AppendTx(tx, audit.Entry{Actor: a.who.String(), Action: audit.SkillPublished, Target: id, Digest: item.Hash, Detail: map[string]any{"public": public}})
	})
	return item, err
}
