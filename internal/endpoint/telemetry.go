package endpoint

import (
	"context"
	"math/rand/v2"
	"time"
)

// telemetry pushes a snapshot right after the first handshake of the process,
// then at every interval. The very first goes in two steps, so that people see the
// machine before its package manager has thought. Ticks without a connection are skipped; a
// reconnection pushes at once only when the last push is older than the
// interval.
func (e *Endpoint) telemetry(ctx context.Context) {
	interval := e.config.interval()
	timer := time.NewTimer(jitter(interval))
	defer timer.Stop()
	var last time.Time
	for {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-e.connected:
			due = last.IsZero() || time.Since(last) > interval
		case <-timer.C:
			due = e.client.Connected()
			timer.Reset(jitter(interval))
		}
		if due && last.IsZero() && e.opts.sections == nil {
			e.push(ctx, e.meter.Quick())
		}
		if due && e.push(ctx, e.opts.sections) {
			last = time.Now()
			timer.Reset(jitter(interval))
		}
	}
}

// jitter spreads a duration by five percent either way, so that machines that
// started together do not stay together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.95 + rand.Float64()/10))
}

// push takes a snapshot and sends it.
func (e *Endpoint) push(ctx context.Context, sections []string) bool {
	at := time.Now()
	snapshot := e.meter.Collect(ctx, sections)
	if ctx.Err() != nil {
		return false
	}
	if err := e.client.PushTelemetry(at, snapshot); err != nil {
		e.log.Warn("telemetry not sent", "error", err)
		return false
	}
	e.log.Debug("telemetry sent", "sections", len(snapshot), "took", time.Since(at))
	return true
}
