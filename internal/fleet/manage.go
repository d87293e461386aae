package fleet

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley.internal/internal/audit"
	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/fleet/telemetry"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/health"
)

// Edit changes a machine; nil leaves things as they are.
type Edit struct {
	Name        *string
	Tags        *[]string
	Mobile      *bool
	Thresholds  *Thresholds
	Maintenance *Window // a zero window ends it
	Mutes       *map[string]health.Mute
}

// Bounds of what people write about a machine.
const (
	maxName = 200
	maxTags = 32
)

var tagName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func checkTags(tags []string) ([]string, *fault.Error) {
	tags = slices.Compact(slices.Sorted(slices.Values(tags)))
	if len(tags) > maxTags {
		return nil, fault.Errorf(fault.BadArgs, "at most %d tags", maxTags)
	}
	for _, t := range tags {
		if !tagName.MatchString(t) {
			return nil, fault.Errorf(fault.BadArgs, "a tag needs a letter or digit, then up to 63 letters, digits, '.', '_' or '-'")
		}
	}
	if tags == nil {
		tags = []string{}
	}
	return tags, nil
}

func checkName(name string) *fault.Error {
	if utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name) {
		return fault.Errorf(fault.BadArgs, "a name has at most %d characters", maxName)
	}
	return nil
}

// Create makes a machine known before it enrols.
func (f *Fleet) Create(ctx context.Context, who identity.Actor, id, name string, tags []string) (Machine, error) {
	if err := may(who, identity.FleetAdmin); err != nil {
		return Machine{}, err
	}
	tags, refusal := checkTags(tags)
	if refusal == nil {
		refusal = checkName(name)
	}
	if refusal != nil {
		return Machine{}, refusal
	}
	if !who.Scopes.AllowsMachine(id, tags) {
		return Machine{}, fault.Errorf(fault.Forbidden, "this token does not reach the machine %q", fault.Quotable(id))
	}
	if f.find(id) != nil {
		return Machine{}, fault.Errorf(fault.Conflict, "there is a machine %q already", id)
	}
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := f.ensure(tx, who, id); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE fleet_machines SET name = ?, tags = ? WHERE id = ?`, fit.Storable(name), text(tags), id)
		return err
	})
	if err != nil {
		return Machine{}, err
	}
	return f.refresh(ctx, id)
}

// ensure makes the machine's row if need be. An id that differs from another's
// only in case is refused: people would mix them up.
func (f *Fleet) ensure(tx *store.Tx, who identity.Actor, id string) error {
	if err := kenny.CheckID(id); err != nil {
		return fault.Errorf(fault.BadArgs, "%w", err)
	}
	now := store.Micros(time.Now())
	n, err := tx.Exec(`INSERT INTO fleet_machines (id, fold, name, tags, mobile, meta, thresholds, maintenance, mutes, alerts, state, hub, epoch, created_at, removed_at, connected_at, last_seen, changed_at)
		VALUES (?, ?, '', '[]', 0, '{}', '{}', '{}', '{}', '{}', ?, '', 0, ?, 0, 0, 0, ?) ON CONFLICT (fold) DO NOTHING`, id, strings.ToLower(id), wasNever, now, now)
	if err != nil {
		return err
	}
	created := n > 0
	if !created {
		var other string
		var removed int64
		if err := tx.QueryRow(`SELECT id, removed_at FROM fleet_machines WHERE fold = ?`, strings.ToLower(id)).Scan(&other, &removed); err != nil {
			return err
		}
		if other != id {
			return fault.Errorf(fault.Conflict, "there is a machine %q already, which differs only in case", other)
		}
		if removed != 0 {
			created = true
			if _, err := tx.Exec(`UPDATE fleet_machines SET removed_at = 0, state = ?, changed_at = ? WHERE id = ?`, wasNever, now, id); err != nil {
				return err
			}
		}
	}
	if !created {
		return nil
	}
	return f.d.Audit.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.FleetMachineCreated, Target: id})
}

// refresh reads a machine again after a change, tells everybody, and gives it.
func (f *Fleet) refresh(ctx context.Context, id string) (Machine, error) {
	if err := f.reload(ctx, id); err != nil {
		return Machine{}, err
	}
	f.cluster.publish(news{Machine: id})
	m := f.find(id)
	if m == nil {
		return Machine{}, fault.Errorf(fault.NotFound, "there is no machine %q", fault.Quotable(id))
	}
	return f.view(m, time.Now()), nil
}

// Edit changes what people say about a machine.
func (f *Fleet) Edit(ctx context.Context, who identity.Actor, id string, e Edit) (Machine, error) {
	m, refusal := f.seen(who, identity.FleetAdmin, id)
	if refusal != nil {
		return Machine{}, refusal
	}
	sets, args, refusal := e.columns()
	if refusal != nil {
		return Machine{}, refusal
	}
	if len(sets) == 0 {
		return f.view(m, time.Now()), nil
	}
	now := store.Micros(time.Now())
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		all := append(slices.Clone(args), now, id)
		if _, err := tx.Exec(`UPDATE fleet_machines SET `+strings.Join(sets, ", ")+`, changed_at = ? WHERE id = ?`, all...); err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.FleetMachineEdited, Target: id, Detail: map[string]any{"changed": strings.Join(sets, " ")}})
	})
	if err != nil {
		return Machine{}, err
	}
	if e.Mutes != nil {
		if err := f.reload(ctx, id); err != nil {
			return Machine{}, err
		}
		f.rejudge(ctx, m)
	}
	return f.refresh(ctx, id)
}

// columns checks an edit and gives the assignments it means.
func (e Edit) columns() (sets []string, args []any, refusal *fault.Error) {
	add := func(column string, value any) { sets, args = append(sets, column+" = ?"), append(args, value) }
	if e.Name != nil {
		if err := checkName(*e.Name); err != nil {
			return nil, nil, err
		}
		add("name", fit.Storable(*e.Name))
	}
	if e.Tags != nil {
		tags, err := checkTags(*e.Tags)
		if err != nil {
			return nil, nil, err
		}
		add("tags", text(tags))
	}
	if e.Mobile != nil {
		add("mobile", store.Bool(*e.Mobile))
	}
	if e.Thresholds != nil {
		if err := checkThresholds(*e.Thresholds); err != nil {
			return nil, nil, err
		}
		add("thresholds", text(e.Thresholds))
	}
	if e.Maintenance != nil {
		if w := *e.Maintenance; w.Until.Before(w.From) {
			return nil, nil, fault.Errorf(fault.BadArgs, "a maintenance window ends after it begins")
		}
		add("maintenance", text(e.Maintenance))
	}
	if e.Mutes != nil {
		if err := checkMutes(*e.Mutes); err != nil {
			return nil, nil, err
		}
		add("mutes", text(*e.Mutes))
	}
	return sets, args, nil
}

func checkThresholds(t Thresholds) *fault.Error {
	ping, silence := t.PingS, t.SilenceS
	if ping < 0 || silence < 0 || t.OverdueS < 0 || ping > 3600 || silence > 86_400 || t.OverdueS > 2_592_000 {
		return fault.Errorf(fault.BadArgs, "a threshold is out of bounds")
	}
	if ping > 0 && silence > 0 && silence <= ping {
		return fault.Errorf(fault.BadArgs, "silence_s must be longer than ping_s")
	}
	return nil
}

func checkMutes(mutes map[string]health.Mute) *fault.Error {
	if len(mutes) > kenny.MaxSections {
		return fault.Errorf(fault.BadArgs, "too many mutes")
	}
	for _, name := range slices.Sorted(maps.Keys(mutes)) {
		if !telemetry.ValidSection(name) {
			return fault.Errorf(fault.BadArgs, "%q is not a section", fault.Quotable(name))
		}
		if r := mutes[name].Reason; r == "" || utf8.RuneCountInString(r) > maxName {
			return fault.Errorf(fault.BadArgs, "a mute needs a reason of at most %d characters", maxName)
		}
	}
	return nil
}

// Remove takes a machine out of the fleet: its key is revoked, its connection
// ends, nothing further is stored. Its past stays until retention ends.
func (f *Fleet) Remove(ctx context.Context, who identity.Actor, id string) error {
	if _, err := f.seen(who, identity.FleetAdmin, id); err != nil {
		return err
	}
	now := store.Micros(time.Now())
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		for _, q := range []string{
			`UPDATE fleet_machines SET removed_at = ? WHERE id = ?`,
			`UPDATE fleet_keys SET revoked_at = ? WHERE machine = ? AND revoked_at = 0`,
			`UPDATE fleet_enrol SET voided_at = ? WHERE machine = ? AND voided_at = 0 AND used_at = 0`,
			`UPDATE fleet_legacy SET expires_at = ? WHERE machine = ?`,
			`UPDATE fleet_links SET expires_at = ? WHERE machine = ?`,
			`UPDATE fleet_queue SET state = 'cancelled', code = 'cancelled', message = 'the machine was removed', finished_at = ? WHERE machine = ? AND state IN ('asking', 'queued')`,
		} {
			if _, err := tx.Exec(q, now, id); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`UPDATE fleet_machines SET changed_at = ?, tags = '[]', mutes = '{}', alerts = '{}' WHERE id = ?`, now, id); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM fleet_latest WHERE machine = ?`, id); err != nil {
			return err
		}
		return f.d.Audit.AppendTx(tx, audit.Entry{Actor: who.String(), Action: audit.FleetMachineRemoved, Target: id})
	})
	if err != nil {
		return err
	}
	f.events.Hub(id, kenny.LevelWarn, "removed", "the machine was removed", map[string]any{"by": who.String()})
	if err := f.reload(ctx, id); err != nil {
		return err
	}
	f.cluster.publish(news{Machine: id})
	f.tell(Change{Kind: "removed", Machine: id})
	return nil
}
