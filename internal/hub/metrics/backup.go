package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/hub/nightly"
)

// Backups is what the backups count that a hub makes by itself.
func Backups(n *nightly.Backups) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "parley_backup_last_seconds", Help: "When the last backup was made, in Unix time.",
		}, func() float64 {
			if last := n.Last(); !last.IsZero() {
				return float64(last.Unix())
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "parley_backup_failures_total", Help: "Backups that failed.",
		}, func() float64 { return float64(n.Failures()) }),
	}
}
