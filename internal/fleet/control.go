package fleet

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// controlled takes over what a machine says of the switch there. It is on record
// before it is told on, so that every hub and every command shows the same.
func (s *Session) controlled(c kenny.Control) {
	if s.m.meta().Control == c {
		return
	}
	s.m.change(func(r *record) { r.meta.Control = c })
	s.f.storeControl(s)
	s.f.changed(s.m)
}

// storeControl writes the machine's own words down; only the hub that has the
// machine does.
func (f *Fleet) storeControl(s *Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
	defer cancel()
	meta, now := text(s.m.meta()), store.Micros(time.Now())
	err := f.d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.check(tx); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE fleet_machines SET meta = ?, changed_at = ? WHERE id = ? AND removed_at = 0`, meta, now, s.m.id)
		return err
	})
	if err == nil {
		s.m.change(func(r *record) { r.changed = max(r.changed, now) })
	}
	if err != nil && !errors.Is(err, lease.ErrLost) && !errors.Is(err, store.ErrClosed) {
		f.logger(s.m).Warn("where the machine's switch stands is not on record", "error", err)
	}
}

// shown is where the switch stands as far as an answer tells; it helps with
// machines that do not say so themselves.
func (p *prepared) shown(known kenny.Control, err error) kenny.Control {
	e, _ := errors.AsType[*fault.Error](err)
	switch {
	case known == kenny.ControlAsk:
		return known // who can say that says every change
	case e == nil && p.tool.Class == kenny.Mutating:
		return kenny.ControlOn
	case e == nil || !e.FromMachine || e.Code != fault.Disabled:
		return known
	case p.tool.Class == kenny.Sensitive:
		return kenny.ControlPrivate
	case known.Known() && known.Tightness() >= kenny.ControlOff.Tightness():
		return known
	}
	return kenny.ControlOff
}

// patience is how long the machine may take for a call, with the time the person
// there has to answer where that person is asked.
func (p *prepared) patience() time.Duration {
	if p.tool.Class == kenny.Mutating && p.m.meta().Control == kenny.ControlAsk {
		return p.timeout + kenny.AskTime
	}
	return p.timeout
}
