package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley.internal/internal/bus"
)

// Metrics is everything a hub counts. The names are documented in
// docs/operations.md; a test keeps the two together.
type Metrics struct {
	*prometheus.Registry

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec

	mu sync.RWMutex
	// known saves finding the series of a request by its labels each time.
	known map[request]series
}

// request is what requests are counted by.
type request struct {
	method, route string
	status        int
}

type series struct {
	count   prometheus.Counter
	seconds prometheus.Observer
}

// New counts requests, and what the Go runtime tells.
func New(version string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(), known: map[request]series{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_http_requests_total", Help: "Finished HTTP requests.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parley_http_request_seconds", Help: "Time from request to answer.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10},
		}, []string{"route"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "parley_build_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.MustRegister(m.requests, m.seconds, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// WatchBus counts what was refused between hubs. In process nobody can send
// anything that would be.
func (m *Metrics) WatchBus(b bus.Bus) {
	between, ok := b.(*bus.NATS)
	if !ok {
		return
	}
	for _, why := range bus.Refusals() {
		m.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "parley_bus_refused_total", Help: "Messages between hubs that were refused.", ConstLabels: prometheus.Labels{"reason": string(why)},
		}, func() float64 { return float64(between.Refused(why)) }))
	}
}

// Request counts a finished request by its route's pattern: paths have ids in
// them and would never end.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	one := request{method, route, status}
	m.mu.RLock()
	found, ok := m.known[one]
	m.mu.RUnlock()
	if !ok {
		found = m.meet(one)
	}
	found.count.Inc()
	found.seconds.Observe(took.Seconds())
}

// meet finds the series of requests like this one. Methods that somebody made up are
// counted as one.
func (m *Metrics) meet(one request) series {
	one.method = strings.Clone(one.method) // the request need not stay for it
	if !slices.Contains(methods, one.method) {
		one.method = "other"
	}
	found := series{
		m.requests.WithLabelValues(one.method, one.route, strconv.Itoa(one.status)), m.seconds.WithLabelValues(one.route),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[one] = found
	return found
}

// methods are those the hub's routes know, and what browsers and probes ask.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	http.MethodConnect, http.MethodTrace,
}

// Handler shows everything.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{})
}
