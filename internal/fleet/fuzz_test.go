package fleet_test

import (
	"testing"

	"parley.internal/internal/fleet"
)

// FuzzFramesOfAMachine holds a session to what it promises whatever a machine
// sends: no panic, and nothing in another machine's name.
func FuzzFramesOfAMachine(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"type":"ping"}`, `{"type":"response","id":"1","ok":true}`, `{"type":"telemetry","agent_id":"victim","collected_at":"2026-01-01T00:00:00Z","snapshot":{"disk":{"status":"crit","summary":"x"}}}`,
		`{"type":"log","agent_id":"pc","at":"2026-01-01T00:00:00Z","level":"info","target":"t","message":"m","fields":{"a":[1,2,{"b":null}]}}`,
		`{"type":"telemetry","agent_id":"pc","collected_at":"2026-01-01T00:00:00Z","snapshot":{"disk":{"status":"ok","summary":"s","volumes":[{"mount":"\u0000","percent_used":1e308}]}}}`,
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f, setup{deps: func(d *fleet.Deps) { d.Limits.BadFrames = 1 << 30 }})
	m := w.join("pc")
	w.join("victim")
	f.Fuzz(func(t *testing.T, data []byte) {
		m.sess().Receive(data)
		m.sess().Oversize(data, int64(len(data)))
		v, err := w.fleet.Machine(t.Context(), op(), "victim")
		if err != nil || !v.Received.IsZero() {
			t.Fatalf("%q reached another machine (%v)", data, err)
		}
	})
}
