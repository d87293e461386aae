package hub

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/audit"
	"parley.internal/internal/face/api"
	"parley.internal/internal/fit"
	"parley.internal/internal/hub/config"
	"parley.internal/internal/store"
	"parley.internal/internal/witness"
	"parley.internal/protocol/rest"
)

// auditFace is the trail as the REST face shows it.
func (h *Hub) auditFace() api.Audit {
	return api.Audit{
		Trail: h.trail, Ledger: witness.NewLedger(h.db, h.trail),
		Kept: func() []audit.Kept { all, _ := kept(h.conf); return all },
		Ends: h.lastKept,
	}
}

// lastKept is the end of what was kept outside the database, at the start and since.
// The latter is this process's own memory: changing the files does not change it.
func (h *Hub) lastKept() []audit.Kept {
	all := slices.Clone(h.keptEnds)
	for _, s := range h.keeper.States() {
		if s.Last.Seq > 0 {
			all = append(all, audit.Kept{Where: s.Name, Checkpoints: []audit.Checkpoint{s.Last}})
		}
	}
	return all
}

// auditWarnings tell of a cut, and of witnesses that take nothing.
func (h *Hub) auditWarnings(ctx context.Context) ([]rest.Warning, error) {
	warnings := []rest.Warning{}
	c, err := h.trail.Compare(ctx, h.lastKept()...)
	for _, cut := range c.Cuts {
		if cut.Acknowledged == nil {
			warnings = append(warnings, rest.Warning{Code: "audit_cut", Text: "audit: " + cut.String()})
		}
	}
	for _, s := range h.keeper.States() {
		if s.Error != "" {
			text := fmt.Sprintf("audit: the witness %s takes no checkpoints (%d wait, %d attempts failed): %s", s.Name, s.Waiting, s.Failures, s.Error)
			warnings = append(warnings, rest.Warning{Code: "audit_witness", Text: text})
		}
	}
	return warnings, err
}

// trailMetrics count what witnesses did not take.
func (h *Hub) trailMetrics() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "parley_audit_witness_failures_total", Help: "Attempts to leave checkpoints with a witness that failed.",
	}, func() (n float64) {
		for _, s := range h.keeper.States() {
			n += float64(s.Failures)
		}
		return n
	})
}

// examineTrail holds the database against what was kept outside it.
func examineTrail(ctx context.Context, conf config.Config) Finding {
	all, unreadable := kept(conf)
	if len(unreadable) > 0 {
		return bad("audit", fit.OneLine(unreadable[0].Error()), "let the user that runs the hub read the file; 'parley audit verify' needs it")
	}
	key, err := hubKey(Folder(conf.Data))
	if err != nil || key == nil {
		return note("audit", "nothing is signed yet", "the first start makes the key")
	}
	public, _ := key.Public().(ed25519.PublicKey)
	return examineCuts(ctx, conf, public, ends(all))
}

func examineCuts(ctx context.Context, conf config.Config, key ed25519.PublicKey, kept []audit.Kept) Finding {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	db, err := store.Open(ctx, conf.Database(), store.Options{KeepVersion: true})
	if err != nil {
		return note("audit", "not compared: the database cannot be opened", "see the finding about the database")
	}
	defer func() { _ = db.Close() }()
	c, err := audit.Compare(ctx, db, []ed25519.PublicKey{key}, kept...)
	if err != nil {
		return bad("audit", fit.OneLine(err.Error()), "see the finding about the database")
	}
	known := ""
	for _, cut := range c.Cuts {
		if cut.Acknowledged == nil {
			return bad("audit", cut.String(), "run 'parley audit verify'; if a backup was restored, 'parley audit acknowledge-cut' says so in the trail")
		}
		known = cut.String()
	}
	if known != "" {
		return note("audit", known, "")
	}
	return witnessed(conf, c)
}

// witnessed tells whether anything is kept where the owner of this folder cannot reach it.
func witnessed(conf config.Config, c audit.Comparison) Finding {
	last := int64(0)
	for _, k := range c.Kept {
		last = max(last, k.Last)
	}
	for _, k := range c.Kept {
		if k.Last < last {
			return note("audit", fmt.Sprintf("%s has checkpoints up to entry %d of %d", k.Where, k.Last, last), "let the hub write to that file; 'parley status' says what went wrong")
		}
	}
	if len(conf.Audit.WitnessFile) == 0 && conf.Audit.WitnessURL == "" {
		return note("audit", fmt.Sprintf("as its checkpoints say, up to entry %d; they are kept in the data folder only", last), "keep them elsewhere too: audit.witness_file or audit.witness_url")
	}
	return good("audit", fmt.Sprintf("as its checkpoints say, up to entry %d", last))
}
