package fleet

import (
	"context"
	"fmt"
	"time"

	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// Levels of trouble that are announced.
const (
	calm = iota
	lateLevel
	critLevel
)

// watchHealth announces what changed for the worse, or back: once, not in a
// maintenance window, not more than once an hour unless it got worse. What was
// announced is on disk, so that a restart announces nothing again.
func (f *Fleet) watchHealth(m *machine, now time.Time) {
	rec := m.record()
	if f.inWindow(rec, now) {
		return
	}
	level := f.trouble(m, rec, now)
	was := rec.alerts
	next := was
	switch {
	case level > was.Level:
		cooled := now.Sub(store.Time(was.At)) >= f.d.Limits.Cooldown
		if was.At != 0 && !cooled && level <= was.Last {
			return // told a moment ago; the next look tells again if it is still so
		}
		next = alerts{Level: level, Last: level, At: store.Micros(now)}
	case level < was.Level:
		next.Level = level
	default:
		return
	}
	if f.recordAlerts(m, was, next) {
		f.announce(m, rec, was.Level, level, now)
	}
}

func (f *Fleet) inWindow(rec record, now time.Time) bool {
	w := rec.maintenance
	return !now.Before(w.From) && now.Before(w.Until)
}

// trouble is how bad it is: crit, overdue beyond the threshold, or calm.
func (f *Fleet) trouble(m *machine, rec record, now time.Time) int {
	if rec.latest != nil && rec.latest.Overall == kenny.StatusCrit {
		return critLevel
	}
	presence, seen := m.presence(f.hub, f.d.Limits, now)
	if presence == Overdue && !rec.mobile && now.Sub(seen) >= rec.overdue(f.d.Limits) {
		return lateLevel
	}
	return calm
}

// recordAlerts writes what will have been announced; false when another hub was
// faster or it cannot be written.
func (f *Fleet) recordAlerts(m *machine, was, next alerts) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	var n int64
	err := f.d.DB.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Exec(`UPDATE fleet_machines SET alerts = ? WHERE id = ? AND removed_at = 0 AND (alerts = ? OR alerts = ?)`, text(next), m.id, text(was), emptyAlerts(was))
		return err
	})
	if err != nil {
		f.logger(m).Warn("a notice cannot be recorded and is left out", "error", err)
		return false
	}
	if n == 0 {
		_ = f.reload(ctx, m.id) // somebody else has told; a failure shows at the next look
		return false
	}
	m.change(func(r *record) { r.alerts = next })
	return true
}

// emptyAlerts is how a new row spells alerts that never were.
func emptyAlerts(a alerts) string {
	if a == (alerts{}) {
		return "{}"
	}
	return text(a)
}

// announce tells people, in the inbox and through the notifier.
func (f *Fleet) announce(m *machine, rec record, was, level int, now time.Time) {
	n := Notice{Machine: m.id, At: now.UTC()}
	switch {
	case level == critLevel:
		n.Kind, n.Title = "crit", fmt.Sprintf("%s is unwell: %s", m.id, rec.latest.Summary)
	case level == lateLevel && was == calm:
		n.Kind, n.Title = "overdue", fmt.Sprintf("%s has not been heard of since %s", m.id, rec.lastSeen.UTC().Format(time.RFC3339))
	case level == calm && was > calm:
		n.Kind, n.Title = "recovered", fmt.Sprintf("%s is well again", m.id)
	default:
		return // still in trouble, only another one
	}
	f.leaveNote(fmt.Sprintf("fleet-%s-%s-%d", n.Kind, m.id, store.Micros(now)), f.d.Owner(f.ctx), m.id, n.Title, n.Kind)
	f.events.Hub(m.id, kenny.LevelWarn, "notice", n.Title, map[string]any{"kind": n.Kind})
	f.d.Notifier.Notify(n)
}
