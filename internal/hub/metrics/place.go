package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/identity"
	"parley.internal/internal/place"
)

// placeMetrics asks the place when somebody looks; nothing names an agent.
type placeMetrics struct {
	place                                                               *place.Place
	agents, waiting, bytes, polls, relayed, dropped, refused, forgotten *prometheus.Desc
}

// Place is what the meeting place counts.
func Place(p *place.Place) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &placeMetrics{
		place:     p,
		agents:    desc("parley_place_agents", "Agents registered at the meeting place."),
		waiting:   desc("parley_place_messages_waiting", "Sealed messages waiting for their recipients."),
		bytes:     desc("parley_place_bytes_waiting", "Bytes of those messages."),
		polls:     desc("parley_place_polls", "Requests of agents that wait for messages on this hub."),
		relayed:   desc("parley_place_relayed_total", "Messages queued and handed out."),
		dropped:   desc("parley_place_dropped_total", "Messages that made room for others in a full queue."),
		refused:   desc("parley_place_refused_total", "Messages refused by a full queue or a peered place."),
		forgotten: desc("parley_place_expired_total", "Messages nobody fetched in time."),
	}
}

// Describe names them all.
func (m *placeMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.agents, m.waiting, m.bytes, m.polls, m.relayed, m.dropped, m.refused, m.forgotten} {
		out <- d
	}
}

// Collect reads them; a place in trouble has none.
func (m *placeMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	who := place.Visitor{Actor: identity.Hub()}
	info, err := m.place.Info(ctx, who)
	if err != nil {
		return
	}
	relay, err := m.place.RelayStats(ctx, who)
	if err != nil {
		return
	}
	audit, err := m.place.AuditStats(ctx, who, 1)
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, v int64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	counter := func(d *prometheus.Desc, v int64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	gauge(m.agents, info.AgentsCount)
	gauge(m.waiting, relay.TotalMessages)
	gauge(m.bytes, relay.TotalSizeBytes)
	gauge(m.polls, int64(m.place.Polls()))
	counter(m.relayed, audit.Summary.TotalRelays)
	counter(m.dropped, audit.Summary.TotalDropped)
	counter(m.refused, audit.Summary.TotalRefused)
	counter(m.forgotten, audit.Summary.TotalExpired)
}
