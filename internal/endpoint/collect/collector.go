package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
	"parley.internal/protocol/kenny/health"
)

const (
	// atOnce bounds the collectors under way.
	atOnce = 8
	// each bounds one collector.
	each = 20 * time.Second
	// lateGrace is how long a collector that was told to end may take to say
	// something; after that it is left behind.
	lateGrace = time.Second
)

// section is what was measured.
type section struct {
	status  wire.Status
	summary string
	fields  map[string]any
}

// measure takes one section. A nil section without error is one that makes no
// sense here.
type measure func(ctx context.Context, run *round) (*section, error)

// source is one section a system can give.
type source struct {
	name string
	read measure
}

// round is what the collectors of one snapshot share.
type round struct {
	feed *feed // answers of one PowerShell process; Windows only
	now  time.Time
}

// Collector measures this machine.
type Collector struct {
	os      wire.OS
	log     *slog.Logger
	now     func() time.Time
	sources []source
	dirs    *topDirs
}

// New makes the collector of this machine.
func New(os wire.OS, log *slog.Logger) *Collector {
	c := &Collector{os: os, log: log, now: time.Now, dirs: &topDirs{}}
	c.sources = systemSources()
	for _, s := range c.common() {
		if !slices.ContainsFunc(c.sources, func(o source) bool { return o.name == s.name }) {
			c.sources = append(c.sources, s) // a system may have its own way
		}
	}
	return c
}

// Names lists the sections this system may give.
func (c *Collector) Names() []string {
	var out []string
	for _, s := range c.sources {
		out = append(out, s.name)
	}
	return out
}

// slow are the sections that may take their whole time.
var slow = []string{"app_updates"}

// Quick lists the sections that take a moment only.
func (c *Collector) Quick() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return slices.Contains(slow, name) })
}

// Collect measures the named sections, or all if none is named. Unknown names
// are ignored.
func (c *Collector) Collect(ctx context.Context, names []string) map[string]jsontext.Value {
	wanted := c.wanted(names)
	run := &round{now: c.now()}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run.feed = startFeed(ctx, wanted)
	defer run.feed.wait()
	defer cancel()
	var mu sync.Mutex
	out := map[string]jsontext.Value{}
	var work sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, s := range wanted {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if raw := c.one(ctx, run, s); raw != nil {
				mu.Lock()
				defer mu.Unlock()
				out[s.name] = raw
			}
		})
	}
	work.Wait()
	return Fit(out, wire.MaxTelemetry)
}

func (c *Collector) wanted(names []string) []source {
	if names == nil {
		return c.sources
	}
	var out []source
	for _, s := range c.sources {
		if slices.Contains(names, s.name) {
			out = append(out, s)
		}
	}
	return out
}

// one takes a section and judges it; nil if it makes no sense here.
func (c *Collector) one(ctx context.Context, run *round, s source) jsontext.Value {
	got := c.timed(ctx, run, s)
	if got == nil {
		if got = c.inapplicable(s.name); got == nil {
			return nil
		}
	}
	raw, err := got.encode()
	if err != nil {
		c.log.Error("section cannot be written", "section", s.name, "error", err)
		raw, _ = (&section{status: wire.StatusCrit, summary: "could not be measured: " + err.Error()}).encode()
	}
	return c.judge(s.name, got, raw, run.now)
}

// timed runs a collector under its bound.
func (c *Collector) timed(ctx context.Context, run *round, s source) *section {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	done := make(chan *section, 1)
	go func() { done <- c.safely(ctx, run, s) }()
	select {
	case got := <-done:
		return got
	case <-ctx.Done():
	}
	timer := time.NewTimer(lateGrace)
	defer timer.Stop()
	select {
	case got := <-done:
		return got
	case <-timer.C:
		return late()
	}
}

func late() *section {
	return &section{status: wire.StatusWarn, summary: fmt.Sprintf("took longer than %s to measure", each)}
}

// safely turns errors and panics into sections that tell of them.
func (c *Collector) safely(ctx context.Context, run *round, s source) (got *section) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("collector panicked", "section", s.name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			got = &section{status: wire.StatusCrit, summary: "could not be measured: the collector failed unexpectedly"}
		}
	}()
	got, err := s.read(ctx, run)
	switch {
	case err == nil:
		return got
	case errors.Is(err, probe.ErrUnsupported):
		return nil
	case ctx.Err() != nil:
		return late()
	case errors.Is(err, fs.ErrPermission):
		return &section{status: wire.StatusWarn, summary: "the endpoint's account has no permission to measure this: " + err.Error()}
	}
	c.log.Warn("collector failed", "section", s.name, "error", err)
	return &section{status: wire.StatusCrit, summary: "could not be measured: " + err.Error()}
}

// judge lets the hub's rule, where there is one, set the section's own status,
// so that both speak alike.
func (c *Collector) judge(name string, s *section, raw jsontext.Value, now time.Time) jsontext.Value {
	v, ok := health.Judge(c.os, map[string]jsontext.Value{name: raw}, nil, now).Sections[name]
	if !ok || v.Status == s.status {
		return raw
	}
	judged := *s
	judged.status = v.Status
	if v.Reason != "" {
		judged.summary = v.Reason
	}
	if again, err := judged.encode(); err == nil {
		return again
	}
	return raw
}

func (s *section) encode() (jsontext.Value, error) {
	all := map[string]any{}
	maps.Copy(all, s.fields)
	all["status"], all["summary"] = s.status, s.summary
	raw, err := json.Marshal(all)
	return raw, err
}
