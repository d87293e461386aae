package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// workMetrics shows what tasks counted.
type workMetrics struct{ w *work.Work }

// Work is what tasks count.
func Work(w *work.Work) prometheus.Collector { return workMetrics{w} }

var (
	descTasks      = describe("parley_tasks", "Tasks of this hub by state.", "state")
	descTasksEnded = describe("parley_tasks_ended_total", "Tasks that ended on this hub, by outcome.", "outcome")
)

// Describe implements prometheus.Collector.
func (m workMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- descTasks
	ch <- descTasksEnded
}

// Collect implements prometheus.Collector.
func (m workMetrics) Collect(ch chan<- prometheus.Metric) {
	s := m.w.Stats()
	ch <- prometheus.MustNewConstMetric(descTasks, prometheus.GaugeValue, float64(s.Running-s.Paused), "running")
	ch <- prometheus.MustNewConstMetric(descTasks, prometheus.GaugeValue, float64(s.Paused), "paused")
	for _, outcome := range []viber.TaskStatus{viber.TaskDone, viber.TaskFailed, viber.TaskHalted} {
		ch <- prometheus.MustNewConstMetric(descTasksEnded, prometheus.CounterValue, float64(s.Ended[outcome]), string(outcome))
	}
}
