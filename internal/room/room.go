package room

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"parley.internal/internal/audit"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// mailbox is how many things may wait for a room before its senders wait too.
const mailbox = 256

// seqBlock is how many numbers are reserved with one write.
const seqBlock = 1000

// room is one live room. Everything below turn belongs to whoever has the turn:
// the room's goroutine, or for one message the goroutine that read it (now).
type room struct {
	e     *Rooms
	id    string
	lease *lease.Lease
	mail  chan job
	quit  chan struct{} // closed to end it
	gone  chan struct{} // closed when it has ended

	turn sync.Mutex
	over bool // the goroutine has had its last turn
	// ending is why, set before quit is closed.
	ending ending

	title, owner string
	hostings     map[string]Hosting // by person
	invites      map[string]Invited // by id
	key          *kibitz.PrivateKey
	version      int64
	policy       *kibitz.Policy
	signer       string
	signedVer    float64
	locked       bool
	lobby        bool
	shared       bool // an agent of this hub has the key of the sealed room
	appointed    map[string]bool

	seq, reserved uint64
	rev           uint64
	conns         map[string]*conn
	order         []*participant // in the roster, by time of joining
	byID          map[string]*participant
	departed      map[string]*participant // out of the roster, resumable
	byResume      map[string]*participant
	bans          map[string]Ban
	known         map[string]bool
	ring          ring
	kept          keep
	content       *rate.Limiter

	timer *time.Timer
	next  time.Time
	empty time.Time // since when nobody is here

	rosterDirty, capsDirty bool
	rosterAt               time.Time // not before
	rosterOut, capsOut     *Out      // what everybody with the right sees, until it changes
	hubs                   map[string]*hubLink
}

// ending is how a room's goroutine ends.
type ending int

const (
	endStop   ending = iota // the hub stops
	endLost                 // another hub has the room
	endClosed               // the room is no more
	endIdle                 // nobody needs it
)

func newRoom(e *Rooms, l *lease.Lease, rec *record) *room {
	r := &room{
		e: e, id: rec.id, lease: l, mail: make(chan job, mailbox), quit: make(chan struct{}), gone: make(chan struct{}),
		title: rec.title, owner: rec.owner, hostings: rec.hosts, invites: rec.invites, key: rec.key, version: rec.version, policy: rec.policy, signer: rec.signer, signedVer: rec.signedVer,
		locked: rec.locked, lobby: rec.lobby, shared: rec.shared, appointed: rec.publishers, seq: rec.seq, reserved: rec.seq, rev: rec.rev,
		conns: map[string]*conn{}, byID: map[string]*participant{}, departed: map[string]*participant{}, byResume: map[string]*participant{},
		bans: rec.bans, known: rec.known, hubs: map[string]*hubLink{},
		content: rate.NewLimiter(rate.Limit(e.d.Limits.Room), int(e.d.Limits.Room*roomBurstFactor)),
		timer:   time.NewTimer(e.d.Limits.Idle),
	}
	if r.appointed == nil {
		r.appointed = map[string]bool{}
	}
	r.ring.floor = rec.seq
	r.kept.init()
	r.restore(rec.presences)
	return r
}

// restore takes up the presences of a former owner: all are away from now on.
func (r *room) restore(list []stored) {
	now := time.Now()
	r.empty = now
	for _, s := range list {
		p := &participant{presence: s.presence, resume: s.resume, broke: now, restored: true}
		p.left = !s.leftAt.IsZero()
		if p.left {
			p.broke = s.leftAt
		}
		r.byResume[p.resume] = p
		if p.left {
			r.departed[p.ID] = p
		} else {
			r.order = append(r.order, p)
			r.byID[p.ID] = p
		}
		p.refreshGrant()
	}
	r.rank()
	r.due()
}

// job is something for the room's goroutine to do; dropped, if set, is done instead
// when the goroutine ends before its turn.
type job struct{ do, dropped func() }

// post gives the room's goroutine something to do; false when it has ended.
func (r *room) post(f func()) bool { return r.give(job{do: f}) }

func (r *room) give(j job) bool {
	select {
	case r.mail <- j:
	case <-r.gone:
		return false
	}
	select {
	case <-r.gone: // perhaps after its last look into the mail
		r.dropMail()
	default:
	}
	return true
}

// dropMail is for what arrived when the goroutine had ended.
func (r *room) dropMail() {
	for {
		select {
		case j := <-r.mail:
			if j.dropped != nil {
				j.dropped()
			}
		default:
			return
		}
	}
}

// loop is the room's goroutine.
func (r *room) loop() {
	defer r.e.work.Done()
	defer r.finish()
	for {
		select {
		case <-r.quit:
			return
		case <-r.lease.Lost():
			r.ending = endLost
			return
		default:
		}
		select {
		case j := <-r.mail:
			r.runTurn(j.do)
		case <-r.timer.C:
			r.runTurn(func() {
				r.next = time.Time{}
				if !r.fenced() {
					r.due()
				}
			})
		case <-r.quit:
			return
		case <-r.lease.Lost():
			r.ending = endLost
			return
		}
		if r.ending != endStop {
			return
		}
	}
}

// runTurn is a turn of the room's goroutine.
func (r *room) runTurn(f func()) {
	r.turn.Lock()
	defer r.turn.Unlock()
	f()
	if r.ending == endStop {
		r.flush()
	}
}

// now does on the caller's goroutine what leaves the room as it is (a message), if
// nobody else has the turn or waits for it: that spares the room's goroutine being
// woken. It tells whether it did.
func (r *room) now(f func()) bool {
	if len(r.mail) > 0 || !r.turn.TryLock() {
		return false
	}
	defer r.turn.Unlock()
	select {
	case <-r.quit:
		return false
	case <-r.lease.Lost():
		return false
	default:
	}
	if r.over {
		return false
	}
	f()
	r.flush()
	return true
}

// stop ends the goroutine from outside.
func (r *room) stop() {
	select {
	case <-r.quit:
	default:
		close(r.quit)
	}
}

// need makes the room look after itself at a time.
func (r *room) need(at time.Time) {
	if at.IsZero() || !r.next.IsZero() && !at.Before(r.next) {
		return
	}
	r.next = at
	r.timer.Reset(max(time.Until(at), 0))
}

// due does what time asks for and finds out when to look again.
func (r *room) due() {
	now := time.Now()
	for _, c := range r.conns {
		r.dueConn(c, now)
	}
	for i := 0; i < len(r.order); {
		p := r.order[i]
		r.dueParticipant(p, now)
		if i < len(r.order) && r.order[i] == p {
			i++
		}
	}
	for _, p := range r.departed {
		r.dueDeparted(p, now)
	}
	r.dueHubs(now)
	r.dueHosts(now)
	r.dueIdle(now)
	r.flushRoster(now)
}

// dueIdle ends a room that nobody has been in for long.
func (r *room) dueIdle(now time.Time) {
	if len(r.conns) > 0 || len(r.order) > 0 {
		r.empty = time.Time{}
		return
	}
	if r.empty.IsZero() {
		r.empty = now
	}
	at := r.empty.Add(r.e.d.Limits.Idle)
	if !now.Before(at) {
		r.ending = endIdle
		return
	}
	r.need(at)
}

// sure tells whether the room is still this hub's. A hub that was stopped for a
// while, or cannot reach the database, asks before it does or says anything.
func (r *room) sure() error {
	if r.lease.Certain() {
		return nil
	}
	return r.write(nil)
}

// fenced: another hub has the room. The goroutine ends with this turn.
func (r *room) fenced() bool { return errors.Is(r.sure(), lease.ErrLost) }

// nextSeq gives the number of an accepted message.
func (r *room) nextSeq() (uint64, error) {
	if r.seq == r.reserved {
		to := r.seq + seqBlock
		err := r.write(func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE rooms SET seq = ? WHERE id = ?`, int64(to), r.id)
			return err
		})
		if err != nil {
			return 0, err
		}
		r.reserved = to
	}
	r.seq++
	return r.seq, nil
}

// entry makes an entry for the trail about a participant.
func (r *room) entry(kind audit.Action, actor string, p *participant, detail string) audit.Entry {
	e := note{kind: kind, actor: actor, detail: detail}
	if p != nil {
		e.id, e.keyID = p.ID, p.KeyID
	}
	return e.entry(r.id)
}

// note writes an entry soon.
func (r *room) note(n note) { r.e.auditor.note(r, n.entry(r.id)) }

// finish ends every connection in the way the room's end asks for.
func (r *room) finish() {
	r.turn.Lock()
	r.over = true
	r.turn.Unlock()
	r.timer.Stop()
	for _, c := range r.conns {
		switch r.ending {
		case endLost:
			r.e.orphaned(c, r.seq)
		case endClosed:
			c.send(&kibitz.Kick{Code: kibitz.RoomClosed, Reason: "the room was closed"})
			c.link.Close(kibitz.CloseRoomClosed, "the room was closed")
		default:
			c.link.Close(kibitz.CloseGoingAway, "the hub is leaving")
		}
	}
	r.flushHubs()
	r.e.ended(r)
	close(r.gone)
	r.dropMail()
}

// tryPost is post for those who must not wait while the room ends.
func (r *room) tryPost(f func()) {
	select {
	case r.mail <- job{do: f}:
	case <-r.gone:
	case <-r.quit:
	}
}
