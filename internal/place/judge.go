package place

import (
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"parley.internal/internal/place/relay"
	"parley.internal/internal/store"
	"parley.internal/protocol/mmp"
)

// judge says who may send and receive what. The relay asks it in its turns, of which
// there is one at a time.
type judge struct {
	p  *Place
	of *lookup // of the turn
	// strangers are the queues of unknown ids that were counted since the last recount;
	// old asks for them to be forgotten.
	strangers map[string]struct{}
	old       atomic.Bool
}

var _ relay.Judge = (*judge)(nil)

// Look asks for the keys and registrations of a turn. Alone with its database a hub
// knows most keys, and looks for the registration of a recipient when it must.
func (j *judge) Look(tx *store.Tx, _ time.Time, sends []*relay.Sending, receives []*relay.Receiving) error {
	j.of = j.p.newLookup(tx)
	if j.old.Swap(false) {
		j.strangers = nil
	}
	var keys, agents names
	for _, s := range sends {
		if m := s.Message; !s.Who.(Visitor).holds(m.Sender) {
			keys.add(m.Sender)
		}
		keys.add(s.Message.Recipient)
		agents.add(s.Message.Recipient)
	}
	for _, r := range receives {
		if !r.Who.(Visitor).holds(r.Queue) {
			keys.add(r.Queue)
		}
	}
	if err := j.of.lookKeys(keys.args); err != nil || j.p.keys.alone {
		return err
	}
	return j.of.lookAgents(agents.args)
}

// Receives decides whether somebody may have a queue.
func (j *judge) Receives(_ *store.Tx, r *relay.Receiving) error {
	return j.of.guard(r.Who.(Visitor), r.Queue)
}

// Guard decides whether a sender is who it says.
func (j *judge) Guard(_ *store.Tx, s *relay.Sending) error {
	return j.of.guard(s.Who.(Visitor), s.Message.Sender)
}

// Admit decides about a message, and whether it stays here or goes to a peered place.
func (j *judge) Admit(tx *store.Tx, s *relay.Sending, some bool) error {
	who, m := s.Who.(Visitor), s.Message
	holds := who.holds(m.Sender)
	if !holds && (who.Agent != "" || who.Operator()) {
		return mmp.ErrNotYourAgent
	}
	m.Proven, m.Tracked = holds && who.Proven, holds || m.Key != ""
	if err := j.address(tx, m); err != nil {
		return err
	}
	if err := j.of.guard(who, m.Sender); err != nil {
		return err
	}
	return j.recipient(m, some)
}

func (j *judge) address(tx *store.Tx, m *relay.Message) error {
	_, peer := mmp.SplitAddress(m.Recipient)
	if peer == "" {
		return nil
	}
	if !j.p.c.Federation {
		return mmp.ErrUnknownRecipient
	}
	if !m.Proven {
		return mmp.ErrAuthRequired
	}
	var name string
	err := tx.QueryRow(`SELECT name FROM place_peers WHERE name = ?`, peer).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return mmp.ErrUnknownRecipient
	}
	m.Peer, m.Next = peer, m.Created
	return err
}

// recipient refuses ids nobody knows where that is the policy, or where there are too
// many of them.
func (j *judge) recipient(m *relay.Message, some bool) error {
	refuses := j.p.c.Auth == Strict || cameFromPeer(m)
	if _, counted := j.strangers[m.Recipient]; m.Peer != "" || !refuses && (some || counted) {
		return nil
	}
	known, err := j.of.known(m.Recipient)
	switch {
	case err != nil || known:
		return err
	case refuses:
		return mmp.ErrUnknownRecipient
	}
	return j.stranger(m.Recipient)
}

// cameFromPeer tells whether a peered place brought the message.
func cameFromPeer(m *relay.Message) bool {
	_, from := mmp.SplitAddress(m.Sender)
	return from != ""
}

// stranger counts a queue of an id that nobody knows, once.
func (j *judge) stranger(recipient string) error {
	if j.p.figures.strangers.Add(1) > j.p.c.MaxUnknown {
		j.p.figures.strangers.Add(-1)
		return mmp.ErrPlaceFull
	}
	if j.strangers == nil {
		j.strangers = map[string]struct{}{}
	}
	j.strangers[recipient] = struct{}{}
	return nil
}

// Refuses tells whether a full queue refuses; else whoever has most in it loses one.
func (j *judge) Refuses(_ *store.Tx, s *relay.Sending) (bool, error) {
	m := s.Message
	at, err := j.of.key(m.Recipient)
	return j.p.c.Auth == Strict || j.p.c.Auth == TOFU && at > 0 || m.Peer != "" || cameFromPeer(m), err
}

// Failed forgets what the turn may have seen, and wakes those who wait for what it did
// not hand out.
func (j *judge) Failed(queues []string) {
	j.p.keys.forgetAll()
	for _, queue := range queues {
		j.p.waiters.notify(queue)
	}
}
