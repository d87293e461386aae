package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/fleet"
)

// fleetMetrics shows what the machines' part counted. No machine's id is ever a
// label: there are too many of them, and they are nobody's business.
type fleetMetrics struct{ f *fleet.Fleet }

// Fleet is what the machines' part counts.
func Fleet(f *fleet.Fleet) prometheus.Collector { return fleetMetrics{f} }

// readTime bounds looking something up while somebody waits for the figures.
const readTime = 5 * time.Second

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	descMachines   = describe("parley_fleet_machines", "Machines by presence.", "presence")
	descHandshakes = describe("parley_fleet_handshakes_total", "Handshakes of machines by result.", "result")
	descFrames     = describe("parley_fleet_frames_total", "Frames of machines by type and result.", "type", "result")
	descCalls      = describe("parley_fleet_calls_total", "Calls by tool and code.", "tool", "code")
	descSeconds    = describe("parley_fleet_call_seconds", "Time from a call to its answer.")
	descQueue      = describe("parley_fleet_queue_depth", "Calls that wait for machines that are away.")
	descDropped    = describe("parley_fleet_dropped_total", "What was thrown away, by kind.", "what")
)

// Describe implements prometheus.Collector.
func (m fleetMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descMachines, descHandshakes, descFrames, descCalls, descSeconds, descQueue, descDropped} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m fleetMetrics) Collect(ch chan<- prometheus.Metric) {
	for presence, n := range m.f.Presences() {
		ch <- prometheus.MustNewConstMetric(descMachines, prometheus.GaugeValue, float64(n), string(presence))
	}
	c := m.f.Stats().Read()
	for result, n := range c.Handshakes {
		ch <- prometheus.MustNewConstMetric(descHandshakes, prometheus.CounterValue, float64(n), result)
	}
	for k, n := range c.Frames {
		ch <- prometheus.MustNewConstMetric(descFrames, prometheus.CounterValue, float64(n), k[0], k[1])
	}
	for k, n := range c.Calls {
		ch <- prometheus.MustNewConstMetric(descCalls, prometheus.CounterValue, float64(n), k[0], k[1])
	}
	for what, n := range c.Dropped {
		ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(n), what)
	}
	buckets := map[float64]uint64{}
	for i, bound := range c.Seconds.Bounds {
		buckets[bound] = c.Seconds.Counts[i]
	}
	ch <- prometheus.MustNewConstHistogram(descSeconds, c.Seconds.Count, c.Seconds.Sum, buckets)
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	if n, err := m.f.Waiting(ctx); err == nil {
		ch <- prometheus.MustNewConstMetric(descQueue, prometheus.GaugeValue, float64(n))
	}
}
