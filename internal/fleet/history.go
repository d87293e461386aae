package fleet

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
)

// History is a machine's past: a series, or the earlier states of a section.
func (f *Fleet) History(ctx context.Context, who identity.Actor, id string, q telemetry.HistoryQuery) (telemetry.History, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return telemetry.History{}, err
	}
	if _, err := f.known(who, id); err != nil {
		return telemetry.History{}, err
	}
	f.ingest.flush(ctx, id)
	return f.past.History(ctx, id, q)
}

// Trend counts, for each of the last days, how machines were at their worst.
func (f *Fleet) Trend(ctx context.Context, who identity.Actor, days int) ([]telemetry.TrendDay, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return nil, err
	}
	return f.past.Trend(ctx, days, func(id string) bool {
		m := f.find(id)
		return !who.Scopes.Limited() || m != nil && who.Scopes.AllowsMachine(id, m.tags())
	})
}

// newest reads the newest snapshot of a machine, with what came a moment ago; nil if
// there is none.
func (f *Fleet) newest(ctx context.Context, id string) (snapshot map[string]jsontext.Value, received, collected time.Time, err error) {
	f.ingest.flush(ctx, id)
	return f.past.Newest(ctx, id)
}

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
func (f *Fleet) Events(ctx context.Context, who identity.Actor, q telemetry.EventQuery) (telemetry.EventPage, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return telemetry.EventPage{}, err
	}
	where, refusal := f.eventFilter(who, q)
	if refusal != nil {
		return telemetry.EventPage{}, refusal
	}
	return f.events.List(ctx, where.Where(), where.Args, pageSize(q.Limit, mostPage))
}

func (f *Fleet) eventFilter(who identity.Actor, q telemetry.EventQuery) (*store.Filter, *fault.Error) {
	where, err := f.filterFor(who, q.Machine)
	if err != nil {
		return nil, err
	}
	where.Text("source", q.Source)
	where.Text("kind", q.Kind)
	if q.Level != "" {
		g := telemetry.Gravity(q.Level)
		if g < 0 {
			return nil, fault.Errorf(fault.BadArgs, "level must be error, warn, info, debug or trace")
		}
		where.Add("level <= ?", g)
	}
	where.Between("at", q.Since, q.Until)
	if q.Cursor != "" {
		n, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil {
			return nil, fault.Errorf(fault.BadArgs, "not a cursor of this list")
		}
		where.Add("seq < ?", n)
	}
	return where, nil
}

// known is reachable for the past of machines: a removed one still has it, for
// callers without limits.
func (f *Fleet) known(who identity.Actor, id string) (*machine, *fault.Error) {
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

// filterFor begins a listing of what concerns machines: one, or those the caller
// reaches.
func (f *Fleet) filterFor(who identity.Actor, machine string) (*store.Filter, *fault.Error) {
	q := &store.Filter{}
	switch {
	case machine != "":
		if _, err := f.known(who, machine); err != nil {
			return nil, err
		}
		q.Add("machine = ?", machine)
	case who.Scopes.Limited():
		q.In("machine", anys(f.within(who)))
	}
	return q, nil
}

// anys makes arguments of a list.
func anys[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
