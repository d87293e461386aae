package brain_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
)

func TestWaitingForABusyProviderIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec(&fake{acts: []act{fails(&model.Error{Cause: model.CauseStatus, Status: 429, Text: "too many requests"}), says("at last")}})
		var told []string
		out := brain.Run(t.Context(), s, brain.SinkFunc(func(e brain.Event) {
			if e.Kind == brain.Notice && e.Code == "retry" {
				told = append(told, e.Text)
			}
		}))
		if out.Text != "at last" || len(told) != 1 || !strings.Contains(told[0], "too many requests; attempt 2 of 3 follows in") {
			t.Errorf("while the provider was busy the person was told %q; the answer was %q", told, out.Text)
		}
	})
}
