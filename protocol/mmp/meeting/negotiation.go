package meeting

import (
	"time"

	"parley.internal/protocol/mmp"
)

// Negotiation is an offer between two parties and what became of it. It is a
// value: Apply returns the next one. Agreeing triggers nothing by itself.
type Negotiation struct {
	ID        string      `json:"id"`
	Parties   [2]string   `json:"parties"` // who opened, who was asked
	State     ThreadState `json:"state"`
	Terms     mmp.Raw     `json:"terms"`
	TermsID   string      `json:"terms_id"` // the message that holds the latest terms
	TermsHash string      `json:"terms_hash"`
	Last      string      `json:"last"` // who spoke last
	Rounds    int         `json:"rounds"`
	Opened    time.Time   `json:"opened"`
	Active    time.Time   `json:"active"`
	Reason    string      `json:"reason"` // of a withdrawal
}

// maxRounds ends two machines that counter each other for ever.
const maxRounds = 200

// TermsHash names terms: the hash of their compact sorted JSON, so that both sides
// agree whatever order they write members in.
func TermsHash(terms []byte) (mmp.Hash, error) {
	sorted, err := mmp.Sorted(terms)
	if err != nil {
		return mmp.Hash{}, err
	}
	return mmp.HashOf(sorted), nil
}

func readTerms(m Message) (mmp.Raw, string, error) {
	o := m.payload()
	terms := o.Raw("terms", maxThreadText, '{')
	if o.Err() != nil {
		return nil, "", o.Err()
	}
	if terms == nil {
		return nil, "", illegal("terms are missing")
	}
	hash, err := TermsHash(terms)
	return terms, hash.Prefixed(), err
}

// OpenNegotiation starts one with an offer to somebody.
func OpenNegotiation(m Message, at time.Time) (Negotiation, error) {
	terms, hash, err := readTerms(m)
	switch {
	case m.Action != ActionOffer:
		return Negotiation{}, illegal("%s opens no negotiation", m.Action)
	case err != nil:
		return Negotiation{}, err
	case m.Recipient() == "" || m.Recipient() == m.From:
		return Negotiation{}, illegal("an offer needs another party")
	}
	return Negotiation{
		ID: m.ID, Parties: [2]string{m.From, m.Recipient()}, State: ThreadOpen, Terms: terms, TermsID: m.ID,
		TermsHash: hash, Last: m.From, Opened: at, Active: at,
	}, nil
}

// ExpireIdle expires a negotiation that has been idle for too long.
func (n Negotiation) ExpireIdle(now time.Time) Negotiation {
	if n.State == ThreadOpen && now.Sub(n.Active) > NegotiationIdle {
		n.State = ThreadExpired
	}
	return n
}

// Apply takes one message. An illegal one changes nothing; time may still have
// expired the thread.
func (n Negotiation) Apply(m Message, at time.Time) (Negotiation, error) {
	n = n.ExpireIdle(at)
	switch {
	case n.State != ThreadOpen:
		return n, illegal("the negotiation is %s", n.State)
	case m.From != n.Parties[0] && m.From != n.Parties[1]:
		return n, illegal("%s is not a party", mmp.Clip(m.From, mmp.MaxID))
	case m.RepliesTo() != n.ID && m.RepliesTo() != n.TermsID:
		return n, illegal("it answers another message")
	}
	switch m.Action {
	case ActionCounter:
		return n.counter(m, at)
	case ActionAgree:
		return n.agree(m, at)
	case ActionWithdraw:
		return n.withdraw(m, at)
	}
	return n, illegal("%s is no part of a negotiation", m.Action)
}

func (n Negotiation) counter(m Message, at time.Time) (Negotiation, error) {
	if m.From == n.Last {
		return n, illegal("it is the other party's turn")
	}
	if n.Rounds >= maxRounds {
		return n, illegal("after %d rounds", maxRounds)
	}
	terms, hash, err := readTerms(m)
	if err != nil {
		return n, err
	}
	n.Terms, n.TermsID, n.TermsHash = terms, m.ID, hash
	n.Last, n.Active = m.From, at
	n.Rounds++
	return n, nil
}

// agree must name the latest terms twice over, by message and by hash, so that
// nobody agrees to what he has not seen.
func (n Negotiation) agree(m Message, at time.Time) (Negotiation, error) {
	o := m.payload()
	hash := o.Text("terms_hash", mmp.MaxID)
	switch {
	case o.Err() != nil:
		return n, o.Err()
	case m.From == n.Last:
		return n, illegal("it is the other party's turn")
	case m.RepliesTo() != n.TermsID:
		return n, illegal("it agrees to terms that were replaced")
	case !mmp.SameHash(hash, n.TermsHash):
		return n, illegal("the hash is of other terms")
	}
	n.State, n.Last, n.Active = ThreadAgreed, m.From, at
	return n, nil
}

func (n Negotiation) withdraw(m Message, at time.Time) (Negotiation, error) {
	o := m.payload()
	reason := o.Text("reason", mmp.MaxReason)
	if o.Err() != nil {
		return n, o.Err()
	}
	n.State, n.Reason, n.Last, n.Active = ThreadWithdrawn, reason, m.From, at
	return n, nil
}
