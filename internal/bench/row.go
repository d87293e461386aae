package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"parley.internal/internal/bench/role"
)

// Row is one thing that can be measured.
type Row struct {
	// Name is what people type; What says it in a line.
	Name, What string
	// Run measures. It may return results together with an error.
	Run func(ctx context.Context, env *Env) ([]Result, error)
}

// Result is one line of the table.
type Result struct {
	// Case tells the lines of a row apart: "5,000 members".
	Case string `json:"case"`
	Ours Figure `json:"ours"`
	// Limit is the same work done by the bare system; nil where there is none.
	Limit *Figure `json:"limit,omitempty"`
	// Ratio is Ours over Limit, both as rates: 1 is as fast as the system allows.
	Ratio float64 `json:"ratio,omitempty"`
	// Growth is the cost of one operation against the smallest step of the row;
	// 1 means that ten times as many cost the same each. 0 is not measured.
	Growth float64 `json:"growth,omitempty"`
	Target Target  `json:"target,omitzero"`
	// Met says whether the target was reached; nil without a target.
	Met *bool `json:"met,omitempty"`
	// Note is what else was seen: CPU time, percentiles.
	Note string `json:"note,omitempty"`
	// cost is the CPU time of one operation, where it was measured; growth is told
	// by it, since it does not depend on what else the machine does.
	cost time.Duration
}

// Target is what to reach. The zero value is none.
type Target struct {
	// Ratio is the least ratio.
	Ratio float64 `json:"ratio,omitempty"`
	// Most is the largest figure, in the unit of Result.Ours.
	Most float64 `json:"most,omitempty"`
}

// Figure is a measured number.
type Figure struct {
	Value float64 `json:"value"`
	Unit  Unit    `json:"unit"`
}

// Unit is what a figure counts.
type Unit string

// The units.
const (
	PerSecond Unit = "/s"
	Bytes     Unit = "bytes"
	Nanos     Unit = "ns"
)

func rate(n float64, d time.Duration) Figure { return Figure{n / d.Seconds(), PerSecond} }

func took(d time.Duration) Figure { return Figure{float64(d), Nanos} }

// compare makes a result of two rates.
func compare(name string, ours, limit Figure, least float64) Result {
	r := Result{Case: name, Ours: ours, Limit: &limit, Target: Target{Ratio: least}}
	if limit.Value > 0 {
		r.Ratio = ours.Value / limit.Value
	}
	return r
}

// atMost makes a result of a figure that should stay small; most 0 is no target.
func atMost(name string, ours Figure, most float64) Result {
	return Result{Case: name, Ours: ours, Target: Target{Most: most}}
}

// judge fills in whether the target was met.
func (r *Result) judge() {
	switch {
	case r.Target.Ratio > 0:
		met := r.Ratio >= r.Target.Ratio
		r.Met = &met
	case r.Target.Most > 0:
		met := r.Ours.Value <= r.Target.Most
		r.Met = &met
	}
}

// grow sets each step's growth from what one operation cost in it.
func grow(steps []Result, cost func(i int) float64) {
	for i := range steps {
		if first := cost(0); first > 0 {
			steps[i].Growth = cost(i) / first
		}
	}
}

// perOp is what one operation cost, for grow: its CPU time, or else what is
// behind the figure.
func perOp(steps []Result) func(i int) float64 {
	return func(i int) float64 {
		if steps[i].cost > 0 && steps[0].cost > 0 {
			return float64(steps[i].cost)
		}
		f := steps[i].Ours
		if f.Unit == PerSecond && f.Value > 0 {
			return 1 / f.Value
		}
		return f.Value
	}
}

// Env is what a row works with.
type Env struct {
	// Quick asks for loads of seconds instead of minutes.
	Quick bool
	// Dir is an empty folder that goes away afterwards.
	Dir string
	// machines is how many a simulated fleet has; 0 is the usual number.
	machines int
	// db and nats are servers for hubs that work together; see Options.DB.
	db, nats string
	// profile is where children leave CPU profiles; see Options.Profile.
	profile string
	// child is the command line that starts a role; see Options.Child.
	child  []string
	remark io.Writer
}

// start runs a role and waits until it serves.
func (e *Env) start(ctx context.Context, args ...string) (*role.Child, error) {
	return role.Starter{Command: e.child, Profile: e.profile, Remarks: e.remark}.Start(ctx, args...)
}

// say tells whoever watches what is going on.
func (e *Env) say(format string, args ...any) {
	fmt.Fprintf(e.remark, "  "+format+"\n", args...)
}

// count is a number of things: "1 stream", "5,000 streams".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(int64(n)) + " " + thing + "s"
}

// pick is the load for a full or a quick run.
func pick[T any](e *Env, full, quick T) T {
	if e.Quick {
		return quick
	}
	return full
}
