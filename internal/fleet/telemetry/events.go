package telemetry

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fit"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
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
type Event = rest.FleetEvent

// EventPage is a page of events.
type EventPage = rest.FleetEvents

const (
	// eventQueue is what may wait for the disk; more is dropped and counted, and
	// nobody is ever held up by it.
	eventQueue = 8192
	// eventBatch bounds one transaction.
	eventBatch = 512
	// eventRest is how far apart transactions are while nobody waits for one: a
	// fleet that comes back then shares a few.
	eventRest = 25 * time.Millisecond
	// eventTime bounds one write.
	eventTime = 10 * time.Second
)

// Events takes events from anywhere and writes them behind everybody's back.
type Events struct {
	d       EventDeps
	queue   chan eventItem
	started atomic.Bool
	ended   chan struct{}
}

// EventDeps is what a sink is made from.
type EventDeps struct {
	DB  *store.DB
	Log *slog.Logger
	// Dropped counts what had to be thrown away; Written tells that there is something
	// new about a machine.
	Dropped func(what string)
	Written func(machine string)
}

// eventItem is an event, or a mark somebody waits for.
type eventItem struct {
	event Event
	mark  chan struct{}
}

// NewEvents makes a sink that nobody writes yet; see Start and Run.
func NewEvents(d EventDeps) *Events {
	return &Events{d: d, queue: make(chan eventItem, eventQueue), ended: make(chan struct{})}
}

// Start promises that Run is about to write: from now on Flush waits for it.
func (s *Events) Start() { s.started.Store(true) }

// Hub records something the hub saw.
func (s *Events) Hub(machine string, level kenny.Level, target, message string, detail map[string]any) {
	s.Put(Event{Machine: machine, Source: "hub", Kind: "log", Level: level, Target: target, Message: message, Fields: Fields(detail)})
}

// Fields writes details as an open object; nil stays absent.
func Fields(detail map[string]any) jsontext.Value {
	if detail == nil {
		return nil
	}
	raw, err := json.Marshal(detail)
	if err != nil {
		return nil // only what was made here comes here
	}
	return raw
}

// Put queues an event; false when it had to be dropped.
func (s *Events) Put(e Event) bool {
	e.At = time.Now()
	select {
	case s.queue <- eventItem{event: e}:
		return true
	default:
		s.d.Dropped("events")
		return false
	}
}

// Flush waits until everything put before is on disk.
func (s *Events) Flush(ctx context.Context) {
	if !s.started.Load() {
		return
	}
	mark := make(chan struct{})
	select {
	case s.queue <- eventItem{mark: mark}:
	case <-ctx.Done():
		return
	case <-s.ended:
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	case <-s.ended:
	}
}

// Run writes until ctx ends, and then what is left.
func (s *Events) Run(ctx context.Context) {
	defer close(s.ended)
	var rested time.Time
	for {
		select {
		case first := <-s.queue:
			s.write(s.gather(s.rest(ctx, first, rested)...))
			rested = time.Now().Add(eventRest)
		case <-ctx.Done():
			for len(s.queue) > 0 {
				s.write(s.gather(<-s.queue))
			}
			return
		}
	}
}

// rest collects until a time, or until somebody waits.
func (s *Events) rest(ctx context.Context, first eventItem, until time.Time) []eventItem {
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
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

// gather adds whatever waits already.
func (s *Events) gather(batch ...eventItem) []eventItem {
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

func (s *Events) write(batch []eventItem) {
	ctx, cancel := context.WithTimeout(context.Background(), eventTime)
	defer cancel()
	events := make([]Event, 0, len(batch))
	for _, item := range batch {
		if item.mark == nil {
			events = append(events, item.event)
		}
	}
	var err error
	if len(events) > 0 {
		err = s.d.DB.Write(ctx, func(tx *store.Tx) error { return PutEvents(tx, events) })
	}
	if err != nil {
		s.d.Log.Error("events about machines are lost", "count", len(batch), "error", err)
		s.d.Dropped("events_failed")
	}
	for _, item := range batch {
		if item.mark != nil {
			close(item.mark)
		} else if item.event.Machine != "" {
			s.d.Written(item.event.Machine)
		}
	}
}

var newEvents = store.ManyRows(`INSERT INTO fleet_events (at, sent_at, machine, source, kind, level, target, message, fields) VALUES `, `(?, ?, ?, ?, ?, ?, ?, ?, ?)`, ``)

// PutEvents writes events in their order.
func PutEvents(tx *store.Tx, events []Event) error {
	args := make([]any, 0, 9*len(events))
	for _, e := range events {
		args = append(args, store.Micros(e.At), store.Micros(e.Sent), e.Machine, e.Source, e.Kind, Gravity(e.Level), fit.Storable(e.Target), fit.Storable(e.Message), string(e.Fields))
	}
	return newEvents.Exec(tx, args)
}

// levels in order; a smaller number is graver.
var levels = []kenny.Level{kenny.LevelError, kenny.LevelWarn, kenny.LevelInfo, kenny.LevelDebug, kenny.LevelTrace}

// Gravity is a level as rows have it: a smaller number is graver; -1 is none.
func Gravity(l kenny.Level) int { return slices.Index(levels, l) }

func scanEvent(row store.Row) (Event, error) {
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

// List is the events that a condition chooses, newest first, and where the next page
// begins.
func (s *Events) List(ctx context.Context, where string, args []any, limit int) (EventPage, error) {
	s.Flush(ctx)
	page := EventPage{Events: []Event{}}
	err := s.d.DB.Read(ctx, func(tx *store.Tx) error {
		page.Events = page.Events[:0]
		return tx.Each(store.IntoBy(&page.Events, scanEvent), `SELECT seq, at, sent_at, machine, source, kind, level, target, message, fields FROM fleet_events WHERE `+where+` ORDER BY seq DESC LIMIT ?`, append(args, limit+1)...)
	})
	if len(page.Events) > limit {
		page.Events = page.Events[:limit]
		page.Next = strconv.FormatInt(page.Events[limit-1].Seq, 10)
	}
	return page, err
}
