package fleet

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/health"
)

// mostMachines bounds one page of machines.
const mostMachines = 1000

// views lists the machines a caller may see and a query asks for.
func (f *Fleet) views(who identity.Actor, q ListQuery) []Machine {
	now := time.Now()
	word := strings.ToLower(q.Q)
	list := []Machine{}
	for _, m := range f.all() {
		if !who.Scopes.AllowsMachine(m.id, m.tags()) {
			continue
		}
		v := f.view(m, now)
		switch {
		case q.Tag != "" && !slices.Contains(v.Tags, q.Tag):
		case q.Presence != "" && v.Presence != q.Presence:
		case q.Overall != "" && v.Overall != q.Overall:
		case word != "" && !strings.Contains(strings.ToLower(v.ID+"\x00"+v.Name+"\x00"+v.Hostname), word):
		default:
			list = append(list, v)
		}
	}
	return list
}

// page cuts a sorted list behind the cursor, which names the last machine of the
// page before by its place in the order.
func page(list []Machine, key func(Machine) string, cursor string, limit int) (part []Machine, next string, refusal *fault.Error) {
	limit = pageSize(limit, mostMachines)
	from := 0
	if cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return nil, "", fault.Errorf(fault.BadArgs, "not a cursor of this list")
		}
		from, _ = slices.BinarySearchFunc(list, string(after), func(m Machine, k string) int {
			if key(m) <= k {
				return -1
			}
			return 1
		})
	}
	part = list[from:min(len(list), from+limit)]
	if from+limit < len(list) {
		next = base64.RawURLEncoding.EncodeToString([]byte(key(part[len(part)-1])))
	}
	return part, next, nil
}

// Machines lists machines by id.
func (f *Fleet) Machines(_ context.Context, who identity.Actor, q ListQuery) (MachinePage, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return MachinePage{}, err
	}
	list := f.views(who, q)
	key := func(m Machine) string { return m.ID }
	slices.SortFunc(list, func(a, b Machine) int { return cmp.Compare(key(a), key(b)) })
	part, next, refusal := page(list, key, q.Cursor, q.Limit)
	if refusal != nil {
		return MachinePage{}, refusal
	}
	return MachinePage{Machines: part, Next: next}, nil
}

// Overview sums the fleet up, worst machines first.
func (f *Fleet) Overview(_ context.Context, who identity.Actor, q ListQuery) (Overview, error) {
	if err := may(who, identity.FleetRead); err != nil {
		return Overview{}, err
	}
	list := f.views(who, q)
	out := Overview{Overall: kenny.StatusUnknown}
	for _, m := range list {
		out.Overall = health.Worst(out.Overall, m.Overall)
		count(&out.Counts, m)
	}
	slices.SortFunc(list, func(a, b Machine) int { return cmp.Compare(badness(a), badness(b)) })
	part, next, refusal := page(list, badness, q.Cursor, q.Limit)
	if refusal != nil {
		return Overview{}, refusal
	}
	out.Machines, out.Next = part, next
	return out, nil
}

func count(c *Counts, m Machine) {
	switch m.Overall {
	case kenny.StatusOK:
		c.OK++
	case kenny.StatusWarn:
		c.Warn++
	case kenny.StatusCrit:
		c.Crit++
	default:
		c.Unknown++
	}
	switch m.Presence {
	case Online:
		c.Online++
	case Off:
		c.Off++
	case Overdue:
		c.Overdue++
	}
}

// badness orders machines: crit, overdue, warn, unknown, ok, and those switched
// off; then by id. It sorts as text.
func badness(m Machine) string {
	rank := "4"
	switch {
	case m.Overall == kenny.StatusCrit:
		rank = "0"
	case m.Presence == Overdue:
		rank = "1"
	case m.Overall == kenny.StatusWarn:
		rank = "2"
	case m.Presence == Off:
		rank = "5"
	case m.Overall == kenny.StatusUnknown:
		rank = "3"
	}
	return rank + m.ID
}

// Machine finds one machine.
func (f *Fleet) Machine(_ context.Context, who identity.Actor, id string) (Machine, error) {
	m, err := f.seen(who, identity.FleetRead, id)
	if err != nil {
		return Machine{}, err
	}
	return f.view(m, time.Now()), nil
}

// Health judges a machine by its newest telemetry, now.
func (f *Fleet) Health(ctx context.Context, who identity.Actor, id string) (HealthReport, error) {
	m, refusal := f.seen(who, identity.FleetRead, id)
	if refusal != nil {
		return HealthReport{}, refusal
	}
	snapshot, received, collected, err := f.newest(ctx, id)
	if err != nil {
		return HealthReport{}, err
	}
	rec := m.record()
	report := health.Judge(rec.meta.OS, snapshot, rec.mutes, time.Now())
	return HealthReport{ID: id, Collected: collected, Received: received, Overall: report.Overall, Sections: report.Sections}, nil
}

// Snapshot gives the newest telemetry, or one section of it.
func (f *Fleet) Snapshot(ctx context.Context, who identity.Actor, id, section string) (telemetry.Snapshot, error) {
	if _, refusal := f.seen(who, identity.FleetRead, id); refusal != nil {
		return telemetry.Snapshot{}, refusal
	}
	sections, received, collected, err := f.newest(ctx, id)
	if err != nil {
		return telemetry.Snapshot{}, err
	}
	out := telemetry.Snapshot{ID: id, Received: received, Collected: collected, Sections: sections}
	if section == "" {
		return out, nil
	}
	raw, ok := sections[section]
	if !ok {
		return telemetry.Snapshot{}, fault.Errorf(fault.NotFound, "the machine %q has sent no section %q", id, fault.Quotable(section))
	}
	out.Sections = map[string]jsontext.Value{section: raw}
	return out, nil
}

// rejudge judges the newest snapshot again: the rules about age and the mutes
// change with time.
func (f *Fleet) rejudge(ctx context.Context, m *machine) {
	snapshot, received, collected, err := f.newest(ctx, m.id)
	if err != nil || snapshot == nil {
		return
	}
	rec := m.record()
	v := telemetry.Shorten(health.Judge(rec.meta.OS, snapshot, rec.mutes, time.Now()), received, collected)
	if rec.latest != nil && rec.latest.Overall == v.Overall && slices.Equal(rec.latest.Crit, v.Crit) && slices.Equal(rec.latest.Warn, v.Warn) && rec.latest.Summary == v.Summary {
		return
	}
	if err := f.past.Judged(ctx, m.id, v); err != nil {
		f.logger(m).Warn("a new verdict is not stored", "error", err)
		return
	}
	m.change(func(r *record) {
		if r.latest == nil || !r.latest.Received.After(received) {
			r.latest = v
		}
	})
	f.changed(m)
	f.watchHealth(m, time.Now())
}
