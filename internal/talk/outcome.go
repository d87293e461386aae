package talk

import (
	"errors"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/talk/memory"
)

// endingOf is how a run ended, as the history tells it.
func endingOf(out brain.Outcome) memory.Outcome {
	switch out.Stop {
	case brain.StopDone:
		if out.Finish == model.FinishLength || out.Finish == model.FinishFilter {
			return memory.Outcome{How: memory.Cut, Code: string(out.Finish)}
		}
		return memory.Outcome{How: memory.Complete}
	case brain.StopSilent:
		return memory.Outcome{How: memory.Complete, Code: out.Stop.String()}
	case brain.StopRounds, brain.StopBudget, brain.StopTimeout:
		return memory.Outcome{How: memory.Cut, Code: out.Stop.String()}
	case brain.StopCancelled, brain.StopKilled:
		return memory.Outcome{How: memory.Cancelled, Code: out.Stop.String()}
	case brain.StopInterrupted:
		return memory.Outcome{How: memory.Interrupted}
	}
	return memory.Outcome{How: memory.Failed, Code: failureCode(out)}
}

func failureCode(out brain.Outcome) string {
	if e, ok := errors.AsType[*model.Error](out.Err); ok && e.Cause != "" {
		return string(e.Cause)
	}
	return out.Stop.String()
}
