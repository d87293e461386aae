package call

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/store"
)

// Log is the log of all calls. It writes what becomes of them behind the caller's
// back. Outcomes that cannot be written are kept and tried again: they never fail the
// call.
type Log struct {
	d       LogDeps
	queue   chan logItem
	started atomic.Bool
	ended   chan struct{}
}

// LogDeps is what a log is made from.
type LogDeps struct {
	DB    *store.DB
	Audit audit.Recorder
	Log   *slog.Logger
	// Dropped counts what had to be thrown away; Written tells of a row that is on
	// disk now.
	Dropped func(what string)
	Written func(Entry)
}

type logItem struct {
	entry Entry
	trail audit.Entry
	mark  chan struct{}
}

const (
	// LogQueue is how many rows may wait; more are dropped.
	LogQueue = 8192
	logBatch = 256
	// spoolMost bounds what waits for a database that is away.
	spoolMost  = 20_000
	spoolRetry = time.Second
	// logTime bounds one write.
	logTime = 10 * time.Second
)

// NewLog makes a log that nobody writes yet; see Start and Run.
func NewLog(d LogDeps) *Log {
	return &Log{d: d, queue: make(chan logItem, LogQueue), ended: make(chan struct{})}
}

// Start promises that Run is about to write: from now on Flush waits for it.
func (l *Log) Start() { l.started.Store(true) }

// Put records a row; it does not wait. The entry of the trail follows once the row is
// on disk; without an action there is none.
func (l *Log) Put(entry Entry, trail audit.Entry) {
	select {
	case l.queue <- logItem{entry: entry, trail: trail}:
	default:
		l.d.Dropped("call_log")
		l.d.Log.Error("the outcome of a call is not in the call log", "call", entry.CallID)
	}
}

// Flush waits until everything recorded before is on disk, or cannot be now.
func (l *Log) Flush(ctx context.Context) {
	if !l.started.Load() {
		return
	}
	mark := make(chan struct{})
	select {
	case l.queue <- logItem{mark: mark}:
	case <-ctx.Done():
		return
	case <-l.ended:
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	case <-l.ended:
	}
}

// Run writes until ctx ends, and then what is left.
func (l *Log) Run(ctx context.Context) {
	defer close(l.ended)
	var spool []logItem
	retry := time.NewTicker(spoolRetry)
	defer retry.Stop()
	for {
		select {
		case item := <-l.queue:
			spool = l.write(l.gather(append(spool, item)))
		case <-retry.C:
			if len(spool) > 0 {
				spool = l.write(spool)
			}
		case <-ctx.Done():
			for len(l.queue) > 0 {
				spool = append(spool, <-l.queue)
			}
			if spool = l.write(spool); len(spool) > 0 {
				l.d.Log.Error("outcomes of calls are lost", "count", len(spool))
			}
			return
		}
	}
}

func (l *Log) gather(batch []logItem) []logItem {
	for len(batch) < logBatch {
		select {
		case next := <-l.queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// write returns what could not be written.
func (l *Log) write(batch []logItem) []logItem {
	var entries []logItem
	for _, item := range batch {
		if item.mark == nil {
			entries = append(entries, item)
		}
	}
	var err error
	if len(entries) > 0 {
		err = l.store(entries)
	}
	for _, item := range batch {
		if item.mark != nil {
			close(item.mark)
		}
	}
	if err == nil {
		for _, item := range entries {
			if item.trail.Action != "" { // what was refused is in the trail already
				l.d.Audit.Note(item.trail)
			}
			l.d.Written(item.entry)
		}
		return nil
	}
	l.d.Log.Warn("outcomes of calls wait for the store", "count", len(entries), "error", err)
	if extra := len(entries) - spoolMost; extra > 0 {
		l.d.Dropped("call_log")
		entries = entries[extra:]
	}
	return entries
}

func (l *Log) store(items []logItem) error {
	entries := make([]Entry, len(items))
	for i, item := range items {
		entries[i] = item.entry
	}
	ctx, cancel := context.WithTimeout(context.Background(), logTime)
	defer cancel()
	return l.d.DB.Write(ctx, func(tx *store.Tx) error { return putCalls(tx, entries) })
}

// PutTx writes a row in a transaction of the caller.
func (l *Log) PutTx(tx *store.Tx, entry Entry) error { return putCall(tx, entry) }

// List is the rows that a condition chooses, newest first, and where the next page
// begins.
func (l *Log) List(ctx context.Context, where string, args []any, limit int) (Page, error) {
	l.Flush(ctx)
	page := Page{Calls: []Entry{}}
	err := l.d.DB.Read(ctx, func(tx *store.Tx) error {
		page.Calls = page.Calls[:0]
		return tx.Each(store.IntoBy(&page.Calls, scanCall), `SELECT `+callColumns+` FROM fleet_calls WHERE `+where+` ORDER BY at DESC, id DESC LIMIT ?`, append(args, limit+1)...)
	})
	if len(page.Calls) > limit {
		page.Calls = page.Calls[:limit]
		last := page.Calls[limit-1]
		page.Next = fmt.Sprintf("%d.%s", store.Micros(last.At), last.CallID)
	}
	return page, err
}

// Find is the row of a call; nil when there is none.
func (l *Log) Find(ctx context.Context, id string) (*Entry, error) {
	page, err := l.List(ctx, `id = ?`, []any{id}, 1)
	if err != nil || len(page.Calls) == 0 {
		return nil, err
	}
	return &page.Calls[0], nil
}
