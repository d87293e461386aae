package meeting

import (
	"maps"
	"slices"
	"time"

	"parley.internal/protocol/mmp"
)

// ThreadState is where a discussion or negotiation stands.
type ThreadState string

// The states. Closed ends a discussion; agreed and withdrawn a negotiation.
const (
	ThreadOpen      ThreadState = "open"
	ThreadClosed    ThreadState = "closed"
	ThreadAgreed    ThreadState = "agreed"
	ThreadWithdrawn ThreadState = "withdrawn"
	ThreadExpired   ThreadState = "expired"
)

// How long a thread may be idle, and how much it may hold.
const (
	DiscussionIdle  = 7 * 24 * time.Hour
	NegotiationIdle = 24 * time.Hour
	maxStances      = 1000
	maxDrafts       = 100
	maxThreadText   = 64 << 10
)

// Stance is one agent's latest word on a proposal.
type Stance struct {
	Support   bool      `json:"support"`
	Reason    string    `json:"reason"`
	MessageID string    `json:"message_id"`
	At        time.Time `json:"at"`
}

// Synthesis sums a discussion up.
type Synthesis struct {
	From      string `json:"from"`
	MessageID string `json:"message_id"`
	Summary   string `json:"summary"`
	Outcome   string `json:"outcome"`
}

// Discussion is a proposal and what became of it. It is a value: Apply returns the
// next one and leaves the old alone.
type Discussion struct {
	ID       string            `json:"id"`
	Proposer string            `json:"proposer"`
	Title    string            `json:"title"`
	Text     string            `json:"text"`
	State    ThreadState       `json:"state"`
	Opened   time.Time         `json:"opened"`
	Active   time.Time         `json:"active"`
	Stances  map[string]Stance `json:"stances"`
	Drafts   []Synthesis       `json:"drafts"`
	Result   *Synthesis        `json:"result"`
}

// OpenDiscussion starts one with a propose message; its id is the thread's.
func OpenDiscussion(m Message, at time.Time) (Discussion, error) {
	o := m.payload()
	d := Discussion{
		ID: m.ID, Proposer: m.From, Title: o.Text("title", mmp.MaxName), Text: o.Text("text", maxThreadText),
		State: ThreadOpen, Opened: at, Active: at,
	}
	switch {
	case o.Err() != nil:
		return Discussion{}, o.Err()
	case m.Action != ActionPropose:
		return Discussion{}, illegal("%s opens no discussion", m.Action)
	case d.Title == "" && d.Text == "":
		return Discussion{}, illegal("a proposal needs a title or a text")
	}
	return d, nil
}

// ExpireIdle expires a discussion that has been idle for too long.
func (d Discussion) ExpireIdle(now time.Time) Discussion {
	if d.State == ThreadOpen && now.Sub(d.Active) > DiscussionIdle {
		d.State = ThreadExpired
	}
	return d
}

// Apply takes one message. An illegal one changes nothing; time may still have
// expired the thread.
func (d Discussion) Apply(m Message, at time.Time) (Discussion, error) {
	d = d.ExpireIdle(at)
	switch {
	case d.State != ThreadOpen:
		return d, illegal("the discussion is %s", d.State)
	case m.RepliesTo() != d.ID:
		return d, illegal("it answers another message")
	}
	switch m.Action {
	case ActionSupport, ActionOppose:
		return d.stance(m, at)
	case ActionSynthesize:
		return d.synthesize(m, at)
	}
	return d, illegal("%s is no part of a discussion", m.Action)
}

func (d Discussion) stance(m Message, at time.Time) (Discussion, error) {
	o := m.payload()
	reason := o.Text("reason", mmp.MaxReason)
	_, known := d.Stances[m.From]
	if o.Err() != nil {
		return d, o.Err()
	}
	if !known && len(d.Stances) >= maxStances {
		return d, illegal("too many agents take part")
	}
	next := maps.Clone(d.Stances)
	if next == nil {
		next = map[string]Stance{}
	}
	next[m.From] = Stance{Support: m.Action == ActionSupport, Reason: reason, MessageID: m.ID, At: at}
	d.Stances, d.Active = next, at
	return d, nil
}

// synthesize closes when the proposer does it; of others it is a draft.
func (d Discussion) synthesize(m Message, at time.Time) (Discussion, error) {
	o := m.payload()
	s := Synthesis{From: m.From, MessageID: m.ID, Summary: o.Text("summary", maxThreadText), Outcome: o.Text("outcome", mmp.MaxReason)}
	if o.Err() != nil {
		return d, o.Err()
	}
	if m.From != d.Proposer {
		if len(d.Drafts) >= maxDrafts {
			return d, illegal("too many drafts")
		}
		d.Drafts, d.Active = append(slices.Clone(d.Drafts), s), at
		return d, nil
	}
	d.State, d.Result, d.Active = ThreadClosed, &s, at
	return d, nil
}

// Count tells how many agents support and oppose.
func (d Discussion) Count() (support, oppose int) {
	for _, s := range d.Stances {
		if s.Support {
			support++
		} else {
			oppose++
		}
	}
	return support, oppose
}
