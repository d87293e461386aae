package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley.internal/internal/bus"
	"parley.internal/internal/lease"
	"parley.internal/internal/store"
)

// clusterMetrics is what a hub shares with others: database, bus and leases.
type clusterMetrics struct {
	db     *store.DB
	bus    bus.Bus
	leases *lease.Leases
}

// Cluster is what a hub counts of its database, the bus and its leases.
func Cluster(db *store.DB, b bus.Bus, leases *lease.Leases) prometheus.Collector {
	return clusterMetrics{db, b, leases}
}

var (
	descDBUp          = describe("parley_db_up", "1 while the database answers.")
	descDBSeconds     = describe("parley_db_ping_seconds", "How long the database took to answer just now.")
	descDBConnections = describe("parley_db_connections", "Connections to PostgreSQL by state.", "state")
	descDBWaits       = describe("parley_db_waits_total", "Transactions that waited for a connection.")
	descDBWaited      = describe("parley_db_waited_seconds_total", "How long they waited, together.")
	descDBAgain       = describe("parley_db_again_total", "Transactions that were run again, by why.", "why")
	descBusUp         = describe("parley_bus_up", "1 while the other hubs can be heard.")
	descBusMessages   = describe("parley_bus_messages_total", "Messages between hubs, by direction.", "direction")
	descBusBytes      = describe("parley_bus_bytes_total", "Bytes of those messages.", "direction")
	descBusReconnects = describe("parley_bus_reconnects_total", "Times the line to the NATS servers was made anew.")
	descHubs          = describe("parley_hubs_living", "Hubs that live on this database, this one included.")
	descLeases        = describe("parley_leases", "Things this hub owns, by kind.", "kind")
	descTakenOver     = describe("parley_lease_takeovers_total", "Things taken over from hubs that had died.")
	descLeasesLost    = describe("parley_lease_lost_total", "Things of this hub that others took.")
	descRenewFailed   = describe("parley_lease_renewal_failures_total", "Renewals of this hub's membership that failed.")
	descRenewAge      = describe("parley_lease_renewal_age_seconds", "Time since the last renewal.")
)

// Describe implements prometheus.Collector.
func (m clusterMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descDBUp, descDBSeconds, descDBConnections, descDBWaits, descDBWaited, descDBAgain, descBusUp, descBusMessages, descBusBytes, descBusReconnects,
		descHubs, descLeases, descTakenOver, descLeasesLost, descRenewFailed, descRenewAge,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m clusterMetrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	m.collectDB(gauge, counter)
	gauge(descBusUp, up(m.bus.Healthy()))
	if between, ok := m.bus.(*bus.NATS); ok {
		f := between.Figures()
		counter(descBusMessages, float64(f.In), "in")
		counter(descBusMessages, float64(f.Out), "out")
		counter(descBusBytes, float64(f.InBytes), "in")
		counter(descBusBytes, float64(f.OutBytes), "out")
		counter(descBusReconnects, float64(f.Reconnects))
	}
	f := m.leases.Figures()
	gauge(descHubs, float64(f.Living))
	for kind, n := range f.Held {
		gauge(descLeases, float64(n), kind)
	}
	counter(descTakenOver, float64(f.TakenOver))
	counter(descLeasesLost, float64(f.Lost))
	counter(descRenewFailed, float64(f.Failed))
	gauge(descRenewAge, f.Since.Seconds())
}

type told func(d *prometheus.Desc, v float64, labels ...string)

func (m clusterMetrics) collectDB(gauge, counter told) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	began := time.Now()
	err := m.db.Ping(ctx)
	gauge(descDBUp, up(err))
	if err == nil {
		gauge(descDBSeconds, time.Since(began).Seconds())
	}
	if m.db.Dialect() != store.Postgres {
		return
	}
	f := m.db.Figures()
	gauge(descDBConnections, float64(f.InUse), "in_use")
	gauge(descDBConnections, float64(f.Idle), "idle")
	counter(descDBWaits, float64(f.Waits))
	counter(descDBWaited, f.Waited.Seconds())
	counter(descDBAgain, float64(f.Conflicts), "conflict")
	counter(descDBAgain, float64(f.Outages), "outage")
}

func up(err error) float64 {
	if err != nil {
		return 0
	}
	return 1
}
