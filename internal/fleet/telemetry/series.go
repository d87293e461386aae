package telemetry

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/fit"
	"parley.internal/internal/fleet/fault"
	"parley.internal/internal/store"
	"parley.internal/protocol/kenny"
)

// The series kept of every machine.
const (
	metricDisk    = "disk_percent"
	metricMemory  = "memory_percent"
	metricHeat    = "temperature_c"
	metricBattery = "battery_health"
	metricWifi    = "wifi_percent"
	metricOverall = "overall"
)

var metrics = []string{metricDisk, metricMemory, metricHeat, metricBattery, metricWifi, metricOverall}

// sectionMetric is the series a section is plotted by.
var sectionMetric = map[string]string{
	"disk": metricDisk, "memory": metricMemory, "thermals": metricHeat, "battery": metricBattery, "wifi_quality": metricWifi,
}

// value is one measured number; label names the line where there are several.
type value struct {
	metric, label string
	number        float64
}

// maxLines bounds how many volumes of one snapshot are kept as series.
const maxLines = 32

// measure picks the numbers out of a snapshot. What is missing or of another type
// is left out: a machine must not be able to break this.
func measure(snapshot map[string]jsontext.Value, overall kenny.Status) []value {
	var out []value
	add := func(metric, label string, n *float64) {
		if n != nil && !math.IsNaN(*n) && !math.IsInf(*n, 0) {
			out = append(out, value{metric, fit.Cut(fit.Storable(label), 128), *n})
		}
	}
	var disk struct {
		Volumes []struct {
			Mount   string   `json:"mount"`
			Percent *float64 `json:"percent_used"`
		} `json:"volumes"`
	}
	if read(snapshot["disk"], &disk) {
		for _, v := range disk.Volumes[:min(len(disk.Volumes), maxLines)] {
			add(metricDisk, v.Mount, v.Percent)
		}
	}
	var heat struct {
		Sensors []struct {
			Degrees *float64 `json:"temperature_c"`
		} `json:"sensors"`
	}
	if read(snapshot["thermals"], &heat) {
		var hottest *float64
		for _, s := range heat.Sensors {
			if s.Degrees != nil && (hottest == nil || *s.Degrees > *hottest) {
				hottest = s.Degrees
			}
		}
		add(metricHeat, "", hottest)
	}
	for _, one := range []struct{ section, key, metric string }{
		{"memory", "percent_used", metricMemory}, {"battery", "health_percent", metricBattery}, {"wifi_quality", "signal_percent", metricWifi},
	} {
		var members map[string]jsontext.Value
		var n float64
		if read(snapshot[one.section], &members) && members[one.key].Kind() == '0' && json.Unmarshal(members[one.key], &n) == nil {
			add(one.metric, "", &n)
		}
	}
	grade := float64(slices.Index([]kenny.Status{kenny.StatusUnknown, kenny.StatusOK, kenny.StatusWarn, kenny.StatusCrit}, overall))
	add(metricOverall, "", &grade)
	return out
}

func read(raw jsontext.Value, to any) bool {
	return len(raw) > 0 && json.Unmarshal(raw, to) == nil
}

// Spans of a series row.
const (
	spanFull = 0
	spanDay  = 1
)

// storeSeries writes each value as it came, and into its day.
func storeSeries(tx *store.Tx, machine string, at time.Time, values []value) error {
	day := store.Micros(at.UTC().Truncate(24 * time.Hour))
	seen := map[[2]string]bool{}
	for _, v := range values {
		if seen[[2]string{v.metric, v.label}] {
			continue // two volumes of one name
		}
		seen[[2]string{v.metric, v.label}] = true
		_, err := tx.Exec(`INSERT INTO fleet_series (machine, metric, label, span, at, value, low, high, n) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (machine, metric, label, span, at) DO NOTHING`,
			machine, v.metric, v.label, spanFull, store.Micros(at), v.number, v.number, v.number)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO fleet_series (machine, metric, label, span, at, value, low, high, n) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
			ON CONFLICT (machine, metric, label, span, at) DO UPDATE SET
				value = (fleet_series.value * fleet_series.n + excluded.value) / (fleet_series.n + 1),
				low = CASE WHEN excluded.low < fleet_series.low THEN excluded.low ELSE fleet_series.low END,
				high = CASE WHEN excluded.high > fleet_series.high THEN excluded.high ELSE fleet_series.high END,
				n = fleet_series.n + 1`,
			machine, v.metric, v.label, spanDay, day, v.number, v.number, v.number)
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	fullSeries = 30 * 24 * time.Hour
	// mostPoints bounds one answer.
	mostPoints = 10_000
	mostPast   = 500
)

// History is a machine's past: a series, or the earlier states of a section.
func (p *Store) History(ctx context.Context, id string, q HistoryQuery) (History, error) {
	now := time.Now()
	if q.Until.IsZero() {
		q.Until = now.Add(time.Minute)
	}
	if q.From.IsZero() {
		q.From = now.Add(-7 * 24 * time.Hour)
	}
	h := History{ID: id, Section: q.Section, Metric: q.Metric}
	if q.Metric == "" {
		if q.Section == "" {
			return h, fault.Errorf(fault.BadArgs, "name a section or a metric: one of %v", metrics)
		}
		h.Metric = sectionMetric[q.Section]
		if h.Metric == "" {
			return p.sections(ctx, h, q)
		}
	}
	if !slices.Contains(metrics, h.Metric) {
		return h, fault.Errorf(fault.BadArgs, "there is no metric %q; there are %v", fault.Quotable(h.Metric), metrics)
	}
	return p.points(ctx, h, q, now)
}

// points reads a series: as it came while that is kept, days for what is older.
func (p *Store) points(ctx context.Context, h History, q HistoryQuery, now time.Time) (History, error) {
	span := spanFull
	if q.From.Before(now.Add(-fullSeries)) {
		span = spanDay
	}
	limit := q.Limit
	if limit <= 0 || limit > mostPoints {
		limit = mostPoints
	}
	where, args := `machine = ? AND metric = ? AND span = ? AND at >= ? AND at < ?`, []any{h.ID, h.Metric, span, store.Micros(q.From), store.Micros(q.Until)}
	if q.Label != "" {
		where, args = where+` AND label = ?`, append(args, q.Label)
	}
	h.Points = []Point{}
	err := p.db.Read(ctx, func(tx *store.Tx) error {
		h.Points = h.Points[:0]
		return tx.Each(func(row *sql.Rows) error {
			var point Point
			var at int64
			err := row.Scan(&at, &point.Label, &point.Value, &point.Min, &point.Max)
			point.At = store.Time(at)
			h.Points = append(h.Points, point)
			return err
		}, `SELECT at, label, value, low, high FROM fleet_series WHERE `+where+` ORDER BY at DESC, label LIMIT ?`, append(args, limit)...)
	})
	slices.Reverse(h.Points)
	return h, err
}

// past reads a section out of every kept snapshot.
func (p *Store) sections(ctx context.Context, h History, q HistoryQuery) (History, error) {
	if !ValidSection(q.Section) {
		return h, fault.Errorf(fault.BadArgs, "%q is not a section", fault.Quotable(q.Section))
	}
	limit := q.Limit
	if limit <= 0 || limit > mostPast {
		limit = mostPast
	}
	h.Sections = []Past{}
	err := p.db.Read(ctx, func(tx *store.Tx) error {
		h.Sections = h.Sections[:0]
		return tx.Each(func(row *sql.Rows) error {
			var at int64
			var packed []byte
			if err := row.Scan(&at, &packed); err != nil {
				return err
			}
			snapshot, err := p.packer.unpack(packed)
			if raw, ok := snapshot[q.Section]; ok && err == nil {
				h.Sections = append(h.Sections, Past{At: store.Time(at), Section: raw})
			}
			return err
		}, `SELECT received_at, snapshot FROM fleet_snapshots WHERE machine = ? AND received_at >= ? AND received_at < ? ORDER BY received_at DESC LIMIT ?`,
			h.ID, store.Micros(q.From), store.Micros(q.Until), limit)
	})
	slices.Reverse(h.Sections)
	return h, err
}

// Trend counts, for each of the last days, how the machines that the caller sees were
// at their worst. No days are thirty.
func (p *Store) Trend(ctx context.Context, days int, seen func(machine string) bool) ([]TrendDay, error) {
	if days == 0 {
		days = 30
	}
	if days < 1 || days > 90 {
		return nil, fault.Errorf(fault.BadArgs, "days must be from 1 to 90")
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-days)
	out := make([]TrendDay, days)
	for i := range out {
		out[i] = TrendDay{Day: first.AddDate(0, 0, i).Format(time.DateOnly), Bad: []string{}, Poor: []string{}}
	}
	err := p.db.Read(ctx, func(tx *store.Tx) error {
		for i := range out {
			out[i].OK, out[i].Warn, out[i].Crit, out[i].Bad, out[i].Poor = 0, 0, 0, out[i].Bad[:0], out[i].Poor[:0]
		}
		return tx.Each(func(row *sql.Rows) error {
			var id string
			var at int64
			var worst float64
			if err := row.Scan(&id, &at, &worst); err != nil {
				return err
			}
			i := int(store.Time(at).Sub(first) / (24 * time.Hour))
			if i >= 0 && i < days && seen(id) {
				countDay(&out[i], id, int(worst))
			}
			return nil
		}, `SELECT machine, at, high FROM fleet_series WHERE span = ? AND metric = ? AND at >= ? ORDER BY machine`, spanDay, metricOverall, store.Micros(first))
	})
	return out, err
}

func countDay(d *TrendDay, id string, worst int) {
	switch worst {
	case 1:
		d.OK++
	case 2:
		d.Warn++
		d.Poor = append(d.Poor, id)
	case 3:
		d.Crit++
		d.Bad = append(d.Bad, id)
	}
}
