package place

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"parley/internal/store"
	"parley/protocol/mmp"
	"parley/protocol/mmp/relay"
)

// sending is one message on its way into a queue.
type sending struct {
	who    Visitor
	m      *message
	answer relay.SendAnswer
	// dropped made room for it.
	dropped *message
	// refusal is an answer that is audited, so its transaction must commit.
	refusal error
}

// Send stores a sealed message. It is durable when Send returns.
func (p *Place) Send(ctx context.Context, who Visitor, req *relay.SendRequest) (relay.SendAnswer, error) {
	if err := clean("message_type", req.MessageType, "idempotency_key", req.IdempotencyKey); err != nil {
		return relay.SendAnswer{}, err
	}
	now := p.now()
	out, err := p.queue(ctx, &sending{who: who, m: &message{
		sender: req.From, recipient: req.To, kind: req.MessageType, hash: req.BlobHash, size: int64(len(req.Blob)),
		blob: req.Blob, idem: req.IdempotencyKey, created: now, expires: now.Add(p.c.RelayTTL),
	}})
	if err == nil && who.Agent == "" {
		p.touch(req.From)
	}
	return out, err
}

func (p *Place) queue(ctx context.Context, s *sending) (relay.SendAnswer, error) {
	if p.figures.bytesAbout()+s.m.size > p.c.MaxBytes {
		return relay.SendAnswer{}, mmp.ErrPlaceFull
	}
	if err := p.group.add(&op{ctx: ctx, send: s}); err != nil {
		return relay.SendAnswer{}, err
	}
	return p.sent(s)
}

// sent tells the waiting and counts, after the commit.
func (p *Place) sent(s *sending) (relay.SendAnswer, error) {
	if s.refusal != nil {
		return relay.SendAnswer{}, s.refusal
	}
	if s.answer.Duplicate {
		return s.answer, nil
	}
	p.figures.bytes.Add(s.m.size)
	if s.dropped != nil {
		p.figures.bytes.Add(-s.dropped.size)
	}
	p.figures.stale()
	if s.m.peer != "" {
		p.nudgeOutbox()
	} else {
		p.hints.add(s.m.recipient)
		p.tell(subjectWake, s.m.recipient)
	}
	return s.answer, nil
}

// send decides about one message of the batch.
func (b *batch) send(o *op) error {
	s := o.send
	if s == nil {
		return nil
	}
	// The transaction may run again.
	s.answer, s.dropped, s.refusal = relay.SendAnswer{}, nil, nil
	m := s.m
	holds := s.who.holds(m.sender)
	m.proven = holds && s.who.Proven
	if !holds && (s.who.Agent != "" || s.who.OfHub()) {
		return mmp.ErrNotYourAgent
	}
	if m.idem != "" {
		if done, err := b.repeated(s); done || err != nil {
			return err
		}
	}
	if err := b.address(m); err != nil {
		return err
	}
	m.tracked = holds || m.idem != ""
	return b.enqueue(s)
}

// repeated finds the first message of an idempotency key.
func (b *batch) repeated(s *sending) (done bool, err error) {
	m := s.m
	if err := b.guard(s.who, m.sender); err != nil {
		return false, err
	}
	if found := b.p.front.keyed[[2]string{m.sender, m.idem}]; found != nil {
		first, err := b.open([]*fresh{found})
		if err != nil {
			return false, err
		}
		if first[0].created.Add(keepFates).After(m.created) {
			return true, s.again(first[0])
		}
		if err := b.move([]*fresh{found}); err != nil {
			return false, err
		}
	}
	if b.quick && b.p.front.owesFates() {
		return false, errNotQuick
	}
	if _, here := b.keyed[[2]string{m.sender, m.idem}]; here {
		if err := b.write(); err != nil {
			return false, err
		}
	}
	first, err := scanMessage(b.tx.QueryRow(`SELECT `+messageColumns+` FROM place_messages WHERE sender = ? AND idem = ? AND idem <> ''`, m.sender, m.idem), false)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case !first.created.Add(keepFates).After(m.created):
		if b.quick {
			return false, errNotQuick
		}
		_, err = b.tx.Exec(`UPDATE place_messages SET idem = '' WHERE num = ?`, first.num)
		return false, err
	}
	return true, s.again(first)
}

// again is the first answer once more, if it is the same message.
func (s *sending) again(first *message) error {
	if first.recipient != s.m.recipient || !mmp.SameHash(first.hash, s.m.hash) {
		return mmp.ErrIdempotency
	}
	s.answer = relay.SendAnswer{RelayID: first.id, Status: string(relay.FateQueued), ExpiresAt: mmp.At(first.expires), Duplicate: true}
	return nil
}

// address settles whether a message stays here or goes to a peered place.
func (b *batch) address(m *message) error {
	_, peer := mmp.SplitAddress(m.recipient)
	if peer == "" {
		return nil
	}
	if !b.p.c.Federation {
		return mmp.ErrUnknownRecipient
	}
	if !m.proven {
		return mmp.ErrAuthRequired
	}
	var name string
	err := b.tx.QueryRow(`SELECT name FROM place_peers WHERE name = ?`, peer).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return mmp.ErrUnknownRecipient
	}
	m.peer, m.next = peer, m.created
	return err
}

func (b *batch) enqueue(s *sending) error {
	m, p := s.m, b.p
	if !s.who.holds(m.sender) {
		at, err := b.key(m.sender)
		if err != nil {
			return err
		}
		if at > 0 || p.c.Auth == Strict {
			return mmp.ErrAuthRequired
		}
	}
	if err := b.recipient(m); err != nil {
		return err
	}
	full, err := b.full(m.recipient)
	if err != nil {
		return err
	}
	if full {
		if err := b.overflow(s); err != nil || s.refusal != nil {
			return err
		}
	}
	p.name(b.dialect(), m, b.now)
	if err := b.add(m); err != nil {
		return err
	}
	s.answer = relay.SendAnswer{RelayID: m.id, Status: string(relay.FateQueued), ExpiresAt: mmp.At(m.expires)}
	if s.dropped != nil {
		s.answer.Dropped = &relay.Dropped{RelayID: s.dropped.id, Reason: "queue_full"}
	}
	return nil
}

// full tells whether a queue is; one that only might be is counted.
func (b *batch) full(recipient string) (bool, error) {
	limit := int64(b.p.c.QueueLimit)
	if b.waiting[recipient] < limit || !b.loose[recipient] {
		return b.waiting[recipient] >= limit, nil
	}
	if b.tx == nil {
		return false, errNotQuick
	}
	if err := b.write(); err != nil {
		return false, err
	}
	delete(b.loose, recipient)
	err := b.lookQueues([]any{recipient})
	return b.waiting[recipient] >= limit, err
}

// recipient counts the queue, and refuses ids nobody knows where that is the
// policy or where there are too many of them.
func (b *batch) recipient(m *message) error {
	if _, counted := b.waiting[m.recipient]; !counted {
		if err := b.lookQueues([]any{m.recipient}); err != nil {
			return err
		}
	}
	_, from := mmp.SplitAddress(m.sender)
	refuses := b.p.c.Auth == Strict || from != ""
	if m.peer != "" || b.waiting[m.recipient] > 0 && !refuses {
		return nil
	}
	known, err := b.known(m.recipient)
	switch {
	case err != nil || known:
		return err
	case refuses:
		return mmp.ErrUnknownRecipient
	case !b.p.stranger(m.recipient):
		return mmp.ErrPlaceFull
	}
	return nil
}

// known tells whether an id is registered or has a key.
func (b *batch) known(id string) (bool, error) {
	at, err := b.key(id)
	if err != nil || at != noKey {
		return true, err
	}
	if _, asked := b.agents[id]; !asked {
		if err := b.lookAgents([]any{id}); err != nil {
			return false, err
		}
	}
	return b.agents[id] != nil, nil
}

// add puts a message into the front or keeps it for the end of the transaction.
func (b *batch) add(m *message) error {
	b.waiting[m.recipient]++
	b.p.bounds.set(m.recipient, b.waiting[m.recipient])
	if b.p.front.on && m.peer == "" {
		b.admit(m)
		return nil
	}
	b.rows = appendRow(b.rows, b.dialect(), m)
	if m.idem != "" {
		if b.keyed == nil {
			b.keyed = map[[2]string]struct{}{}
		}
		b.keyed[[2]string{m.sender, m.idem}] = struct{}{}
	}
	return b.note(actEnqueue, m, "")
}

// appendRow adds the values of a new row.
func appendRow(to []any, d store.Dialect, m *message) []any {
	to = append(to, m.id, m.sender, m.recipient, m.peer, m.kind, m.hash, m.size, store.Bool(m.proven), store.Bool(m.tracked), m.idem,
		store.Micros(m.created), store.Micros(m.expires), store.Micros(m.created), store.Micros(m.next), m.blob)
	if d == store.SQLite {
		to = append(to, m.num)
	}
	return to
}

// name gives a message its number and its id. In SQLite the number comes from the
// clock, and the id says it: that saves an index. PostgreSQL counts for all hubs.
func (p *Place) name(d store.Dialect, m *message, now time.Time) {
	if d != store.SQLite {
		m.id = p.relayID(now)
		return
	}
	p.lastNum = max(p.lastNum+1, store.Micros(now)<<numBits)
	m.num, m.id = p.lastNum, idOf(uint64(p.lastNum)) //nolint:gosec // not before 1970
}

// numBits leave room for a thousand messages a microsecond, until the year 2255.
const numBits = 10

// relayID is a name that sorts by time, so that the newest are neighbours on disk:
// milliseconds, and a count that began at random, since other hubs count too.
func (p *Place) relayID(now time.Time) string {
	const bits = 22
	return idOf(uint64(now.UnixMilli())<<bits | p.relayed.Add(1)&(1<<bits-1)) //nolint:gosec // not before 1970
}

const relayPrefix = "relay_"

func idOf(n uint64) string {
	raw := [8]byte{byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	text := make([]byte, 0, len(relayPrefix)+2*len(raw))
	return string(hex.AppendEncode(append(text, relayPrefix...), raw[:]))
}

// numOf is the number an id says; 0 when it says none.
func numOf(id string) int64 {
	if len(id) != len(relayPrefix)+16 || id[:len(relayPrefix)] != relayPrefix {
		return 0
	}
	n := int64(0)
	for _, c := range []byte(id[len(relayPrefix):]) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | int64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | int64(c-'a'+10)
		default:
			return 0
		}
	}
	return n
}
