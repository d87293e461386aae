package room

import (
	"context"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/wake"
	"parley.internal/protocol/kibitz"
)

// actionPrefix stands before a kind in the hub's trail.
const actionPrefix = "room."

// note is an entry about a room before the trail numbers it. It never holds
// content.
type note struct {
	kind      audit.Action
	actor     string
	id, keyID string
	detail    string
	code      kibitz.Code
	count     int
}

func (n note) entry(room string) audit.Entry {
	e := audit.Entry{At: time.Now(), Actor: n.actor, Action: n.kind, Target: room, Detail: map[string]any{"id": n.id, "detail": n.detail}}
	if e.Actor == "" {
		e.Actor = "hub"
	}
	if n.keyID != "" {
		e.Detail["keyId"] = n.keyID
	}
	if n.code != "" {
		e.Detail["code"], e.Outcome = string(n.code), string(n.code)
	}
	if n.count > 0 {
		e.Detail["count"] = n.count
	}
	return e
}

// auditEntry is a record of the trail as rooms show it.
func auditEntry(r audit.Record) AuditEntry {
	text := func(key string) string {
		s, _ := r.Detail[key].(string)
		return s
	}
	e := AuditEntry{
		Seq: r.Seq, TS: r.At.UnixMilli(), Room: r.Target, Actor: r.Actor, ID: text("id"), KeyID: text("keyId"),
		Kind: strings.TrimPrefix(string(r.Action), actionPrefix), Detail: text("detail"), Code: kibitz.Code(text("code")), Hash: r.Hash.String(),
	}
	if n, ok := r.Detail["count"].(float64); ok {
		e.Count = int(n)
	}
	return e
}

// Blocked messages are told one by one at first, then counted.
const blockedEach = 20

// blocked notes something that a participant may not do.
func (r *room) blocked(p *participant, detail string, code kibitz.Code) {
	if p != nil {
		r.blockedBy(p.ID, p, detail, code)
	}
}

// blockedBy notes it with whoever tells of it.
func (r *room) blockedBy(actor string, p *participant, detail string, code kibitz.Code) {
	r.counting(p)
	p.blocked++
	if p.blocked > blockedEach {
		return
	}
	r.note(note{kind: audit.RoomBlocked, actor: actor, id: p.ID, keyID: p.KeyID, detail: detail, code: code})
}

// withhold counts a message that somebody did not get.
func (r *room) withhold(p *participant) {
	if p.withheld == 0 {
		r.counting(p)
	}
	p.withheld++
}

// counting starts a participant's minute.
func (r *room) counting(p *participant) {
	if p.minute.IsZero() {
		p.minute = time.Now().Add(time.Minute)
		r.need(p.minute)
	}
}

// dueCounts ends a participant's minute; a zero time ends it early.
func (r *room) dueCounts(p *participant, now time.Time) {
	if p.minute.IsZero() {
		return
	}
	if !now.IsZero() && now.Before(p.minute) {
		r.need(p.minute)
		return
	}
	if more := p.blocked - blockedEach; more > 0 {
		r.note(note{kind: audit.RoomBlocked, actor: p.ID, id: p.ID, keyID: p.KeyID, detail: "more", code: kibitz.ActDenied, count: more})
	}
	if p.withheld > 0 {
		r.note(note{kind: audit.RoomWithheld, actor: "hub", id: p.ID, keyID: p.KeyID, detail: "messages", count: p.withheld})
	}
	p.minute, p.blocked, p.withheld = time.Time{}, 0, 0
}

// auditor writes the notes of all rooms in groups and shows hosts what was
// written: a number and a hash are only known then.
type auditor struct {
	trail audit.Trail
	quit  chan struct{}
	wake  wake.Bell

	// flushing is held while notes are written, so that who waits for it has read
	// everything that was noted before.
	flushing sync.Mutex

	mu      sync.Mutex
	waiting []audit.Entry
	rooms   map[*room]bool
	seen    map[*room]int64
}

// auditPause lets notes gather; they are on disk well within a second.
const auditPause = 100 * time.Millisecond

func newAuditor(trail audit.Trail) *auditor {
	return &auditor{trail: trail, quit: make(chan struct{}), wake: wake.New(), rooms: map[*room]bool{}, seen: map[*room]int64{}}
}

// note queues an entry of a room.
func (a *auditor) note(r *room, e audit.Entry) {
	a.mu.Lock()
	a.waiting = append(a.waiting, e)
	a.rooms[r] = true
	a.mu.Unlock()
	a.poke(nil)
}

// poke says that a room has entries on disk that nobody was shown.
func (a *auditor) poke(r *room) {
	if r != nil {
		a.mu.Lock()
		a.rooms[r] = true
		a.mu.Unlock()
	}
	a.wake.Ring()
}

// begin makes a room's hosts see entries after a number.
func (a *auditor) begin(ctx context.Context, r *room) error {
	last, err := a.trail.Query(ctx, audit.Filter{Target: r.id, Action: actionPrefix, Limit: 1})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[r] = 0
	if len(last) > 0 {
		a.seen[r] = last[0].Seq
	}
	return nil
}

func (a *auditor) end(r *room) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.rooms, r)
	delete(a.seen, r)
}

func (a *auditor) loop() {
	for {
		select {
		case <-a.quit:
			a.flush()
			return
		case <-a.wake:
		}
		a.flush()
		select {
		case <-a.quit:
			a.flush()
			return
		case <-time.After(auditPause):
		}
	}
}

// flush writes what waits and shows what is new.
func (a *auditor) flush() {
	a.flushing.Lock()
	defer a.flushing.Unlock()
	a.mu.Lock()
	entries, rooms := a.waiting, a.rooms
	a.waiting, a.rooms = nil, map[*room]bool{}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if len(entries) > 0 {
		if err := a.trail.Append(ctx, entries...); err != nil {
			a.putBack(entries, rooms) // the trail has logged why
			return
		}
	}
	for r := range rooms {
		a.show(ctx, r)
	}
}

// mostNotes may wait for a store that is away; older ones go first.
const mostNotes = 10_000

func (a *auditor) putBack(entries []audit.Entry, rooms map[*room]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(entries, a.waiting...)
	if over := len(a.waiting) - mostNotes; over > 0 {
		a.waiting = a.waiting[over:]
	}
	for r := range rooms {
		a.rooms[r] = true
	}
}

// show gives a room the entries its hosts have not seen.
func (a *auditor) show(ctx context.Context, r *room) {
	a.mu.Lock()
	after, live := a.seen[r]
	a.mu.Unlock()
	if !live {
		return
	}
	records, err := a.trail.Query(ctx, audit.Filter{Target: r.id, Action: actionPrefix, After: after, Oldest: true, Limit: 1000})
	if err != nil || len(records) == 0 {
		return
	}
	a.mu.Lock()
	a.seen[r] = records[len(records)-1].Seq
	a.mu.Unlock()
	r.tryPost(func() { r.showAudit(records) })
}

// showAudit sends entries to hosts, and to others their own.
func (r *room) showAudit(records []audit.Record) {
	now := seconds(time.Now())
	for _, rec := range records {
		e := auditEntry(rec)
		var out *Out
		for _, p := range r.order {
			all := p.tier != "" && p.may(bitReadRoster, now)
			if p.conn == nil || !all && e.ID != p.ID {
				continue
			}
			if out == nil {
				out = encode(&kibitz.Audit{E: jsonOf(e)})
			}
			p.conn.link.Send(out)
		}
	}
}
