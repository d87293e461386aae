package telemetry

import (
	"encoding/json"
	"time"

	"parley.internal/internal/fit"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/health"
)

// Verdict is the newest telemetry in short.
type Verdict struct {
	Overall   kenny.Status `json:"overall"`
	Crit      []string     `json:"crit"`
	Warn      []string     `json:"warn"`
	Summary   string       `json:"summary"`
	Received  time.Time    `json:"-"`
	Collected time.Time    `json:"-"`
	ClockOff  bool         `json:"-"`
}

// clockSlack is how far a machine's clock may be off without a word.
const clockSlack = 5 * time.Minute

// Shorten is a report as rows and lists keep it.
func Shorten(r health.Report, received, collected time.Time) *Verdict {
	off := received.Sub(collected)
	return &Verdict{
		Overall: r.Overall, Crit: r.With(kenny.StatusCrit), Warn: r.With(kenny.StatusWarn), Summary: fit.Cut(fit.Storable(r.Summary()), 500),
		Received: received, Collected: collected, ClockOff: off > clockSlack || off < -clockSlack,
	}
}

// text is the verdict as its row keeps it.
func (v *Verdict) text() (string, error) {
	raw, err := json.Marshal(v)
	return fit.Storable(string(raw)), err
}
