package endpoint

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"parley.internal/internal/endpoint/tools"
	wire "parley.internal/protocol/kenny"
)

func TestAToolThatIgnoresItsDeadlineIsAnsweredForAllTheSame(t *testing.T) {
	b := newBench(t)
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b.tools = tools.New(tools.Deps{OS: system(), Guard: b.guard, Collect: func(context.Context, []string) (any, error) { <-gate; return nil, nil }})
		start := time.Now()
		_, err := b.ask(t, "telemetry_collect", "{}")
		codeIs(t, "telemetry_collect", err, wire.CodeTimeout)
		tool, _ := wire.Lookup("telemetry_collect")
		if took := time.Since(start); took != tool.Timeout+endGrace || took >= tool.Timeout+wire.AnswerGrace {
			t.Errorf("answered after %s", took)
		}
		close(gate)
	})
}
