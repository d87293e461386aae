package fleet

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/fit"
	"parley/internal/identity"
	"parley/internal/store"
	"parley/protocol/kenny"
)

// EventQuery chooses events, newest first.
type EventQuery struct {
	Machine string
	// Source is hub or machine; Kind log or audit; empty is both.
	Source, Kind string
	// Level is the least grave one wanted; empty is all.
	Level        kenny.Level
	Since, Until time.Time
	Cursor       string
	Limit        int
}

// Event is something that happened around a machine, or a line of its log.
type Event struct {
	Seq     int64          `json:"seq"`
	At      time.Time      `json:"at" doc:"when the hub learned of it"`
	Sent    time.Time      `json:"sent_at,omitzero" doc:"the machine's own time"`
	Machine string         `json:"agent_id"`
	Source  string         `json:"source"`
	Kind    string         `json:"kind"`
	Level   kenny.Level    `json:"level"`
	Target  string         `json:"target"`
	Message string         `json:"message"`
	Fields  jsontext.Value `json:"fields,omitzero"`
}

// EventPage is a page of events.
type EventPage struct {
	Events []Event `json:"events"`
	Next   string  `json:"next_cursor,omitempty"`
}

const (
	// eventQueue is what may wait for the disk; more is dropped and counted, and
	// nobody is ever held up by it.
	eventQueue = 8192
	// eventBatch bounds one transaction.
	eventBatch = 512
	// eventRest is how far apart transactions are while nobody waits for one: a
	// fleet that comes back then shares a few.
	eventRest = 25 * time.Millisecond
)

// eventSink takes events from anywhere and writes them behind everybody's back.
type eventSink struct {
	f     *Fleet
	queue chan eventItem
}

// eventItem is an event, or a mark somebody waits for.
type eventItem struct {
	event Event
	mark  chan struct{}
}

func newEventSink(f *Fleet) *eventSink {
	return &eventSink{f: f, queue: make(chan eventItem, eventQueue)}
}

// hub records something the hub saw.
func (s *eventSink) hub(machine string, level kenny.Level, target, message string, detail map[string]any) {
	s.put(Event{Machine: machine, Source: "hub", Kind: "log", Level: level, Target: target, Message: message, Fields: fields(detail)})
}

// fields writes details as an open object; nil stays absent.
func fields(detail map[string]any) jsontext.Value {
	if detail == nil {
		return nil
	}
	return jsontext.Value(text(detail))
}

// put queues an event; false when it had to be dropped.
func (s *eventSink) put(e Event) bool {
	e.At = time.Now()
	select {
	case s.queue <- eventItem{event: e}:
		return true
	default:
		s.f.stats.drop("events")
		return false
	}
}

// flush waits until everything put before is on disk.
func (s *eventSink) flush(ctx context.Context) {
	if !s.f.started.Load() {
		return
	}
	mark := make(chan struct{})
	select {
	case s.queue <- eventItem{mark: mark}:
	case <-ctx.Done():
		return
	case <-s.f.ctx.Done():
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	case <-s.f.ctx.Done():
	}
}

// run writes until the fleet closes, and then what is left.
func (s *eventSink) run() {
	var rested time.Time
	for {
		select {
		case first := <-s.queue:
			s.write(s.gather(s.rest(first, rested)...))
			rested = time.Now().Add(eventRest)
		case <-s.f.ctx.Done():
			for len(s.queue) > 0 {
				s.write(s.gather(<-s.queue))
			}
			return
		}
	}
}

// rest collects until a time, or until somebody waits.
func (s *eventSink) rest(first eventItem, until time.Time) []eventItem {
	batch := []eventItem{first}
	wait := time.Until(until)
	if wait <= 0 {
		return batch
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	for batch[len(batch)-1].mark == nil && len(batch) < eventBatch {
		select {
		case next := <-s.queue:
			batch = append(batch, next)
		case <-over.C:
			return batch
		case <-s.f.ctx.Done():
			return batch
		}
	}
	return batch
}

// gather adds whatever waits already.
func (s *eventSink) gather(batch ...eventItem) []eventItem {
	for len(batch) < eventBatch {
		select {
		case next := <-s.queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

func (s *eventSink) write(batch []eventItem) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.f.ctx), writeTime)
	defer cancel()
	events := make([]Event, 0, len(batch))
	for _, item := range batch {
		if item.mark == nil {
			events = append(events, item.event)
		}
	}
	var err error
	if len(events) > 0 {
		err = s.f.d.DB.Write(ctx, func(tx *store.Tx) error { return putEvents(tx, events) })
	}
	if err != nil {
		s.f.d.Log.Error("events about machines are lost", "count", len(batch), "error", err)
		s.f.stats.drop("events_failed")
	}
	for _, item := range batch {
		if item.mark != nil {
			close(item.mark)
		} else if item.event.Machine != "" {
			s.f.tell(Change{Kind: "event", Machine: item.event.Machine})
		}
	}
}

var newEvents = store.ManyRows(`INSERT INTO fleet_events (at, sent_at, machine, source, kind, level, target, message, fields) VALUES `, `(?, ?, ?, ?, ?, ?, ?, ?, ?)`, ``)

// putEvents writes events in their order.
func putEvents(tx *store.Tx, events []Event) error {
	args := make([]any, 0, 9*len(events))
	for _, e := range events {
		args = append(args, store.Micros(e.At), store.Micros(e.Sent), e.Machine, e.Source, e.Kind, gravity(e.Level), fit.Storable(e.Target), fit.Storable(e.Message), string(e.Fields))
	}
	return newEvents.Exec(tx, args)
}

// levels in order; a smaller number is graver.
var levels = []kenny.Level{kenny.LevelError, kenny.LevelWarn, kenny.LevelInfo, kenny.LevelDebug, kenny.LevelTrace}

func gravity(l kenny.Level) int { return slices.Index(levels, l) }

// Page sizes of listings.
const (
	usualPage = 200
	mostPage  = 500
)

func pageSize(asked, most int) int {
	if asked <= 0 {
		return usualPage
	}
	return min(asked, most)
}

// Events lists what happened, newest first; filters compose.
func (f *Fleet) Events(ctx context.Context, who identity.Actor, q EventQuery) (EventPage, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return EventPage{}, err
	}
	where, refusal := f.eventFilter(who, q)
	if refusal != nil {
		return EventPage{}, refusal
	}
	f.events.flush(ctx)
	limit := pageSize(q.Limit, mostPage)
	page := EventPage{Events: []Event{}}
	err := f.d.DB.Read(ctx, func(tx *store.Tx) error {
		page.Events = page.Events[:0]
		return tx.Each(func(row *sql.Rows) error {
			e, err := scanEvent(row)
			page.Events = append(page.Events, e)
			return err
		}, `SELECT seq, at, sent_at, machine, source, kind, level, target, message, fields FROM fleet_events WHERE `+where.where()+` ORDER BY seq DESC LIMIT ?`, append(where.args, limit+1)...)
	})
	if len(page.Events) > limit {
		page.Events = page.Events[:limit]
		page.Next = strconv.FormatInt(page.Events[limit-1].Seq, 10)
	}
	return page, err
}

func (f *Fleet) eventFilter(who identity.Actor, q EventQuery) (*filter, *Error) {
	where, err := f.filterFor(who, q.Machine)
	if err != nil {
		return nil, err
	}
	where.text("source", q.Source)
	where.text("kind", q.Kind)
	if q.Level != "" {
		g := gravity(q.Level)
		if g < 0 {
			return nil, errorf(BadArgs, "level must be error, warn, info, debug or trace")
		}
		where.add("level <= ?", g)
	}
	where.between("at", q.Since, q.Until)
	if q.Cursor != "" {
		n, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil {
			return nil, errorf(BadArgs, "not a cursor of this list")
		}
		where.add("seq < ?", n)
	}
	return where, nil
}

func scanEvent(row *sql.Rows) (Event, error) {
	var e Event
	var at, sent int64
	var level int
	var detail string
	err := row.Scan(&e.Seq, &at, &sent, &e.Machine, &e.Source, &e.Kind, &level, &e.Target, &e.Message, &detail)
	e.At, e.Sent = store.Time(at), store.Time(sent)
	if level >= 0 && level < len(levels) {
		e.Level = levels[level]
	}
	if detail != "" {
		e.Fields = jsontext.Value(detail)
	}
	return e, err
}

// known is reachable for the past of machines: a removed one still has it, for
// callers without limits.
func (f *Fleet) known(who identity.Actor, id string) (*machine, *Error) {
	m, err := f.reachable(who, id)
	if err == nil || who.Scopes.Limited() || !f.existed(id) {
		return m, err
	}
	return nil, nil
}

// existed reports whether a removed machine of that id is still in the store.
func (f *Fleet) existed(id string) bool {
	var n int
	err := f.d.DB.Read(f.ctx, func(tx *store.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM fleet_machines WHERE id = ?`, id).Scan(&n)
	})
	return err == nil && n > 0
}

// within lists the machines a limited caller reaches.
func (f *Fleet) within(who identity.Actor) []string {
	var ids []string
	for _, m := range f.all() {
		if who.Scopes.AllowsMachine(m.id, m.tags()) {
			ids = append(ids, m.id)
		}
	}
	slices.Sort(ids)
	return ids
}
