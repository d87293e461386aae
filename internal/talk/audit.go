package talk

import (
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/talk/memory"
)

// note puts something into the trail, without content.
func (t *Talk) note(actor string, action audit.Action, target string, detail map[string]any) {
	if t.d.Audit != nil {
		t.d.Audit.Note(audit.Entry{Actor: actor, Action: action, Target: target, Detail: detail})
	}
}

// audit records how a run ended.
func (r *running) audit(out brain.Outcome) {
	if errors.Is(out.Err, brain.ErrBudget) && r.agent != nil {
		r.c.t.budgetSpent(r.agent, r.c.key.Sender, out.Err)
	}
	if r.c.t.d.Audit == nil {
		return
	}
	detail := r.trace()
	detail["model"], detail["rounds"] = r.model.Ref.String(), out.Rounds
	detail["prompt_tokens"], detail["completion_tokens"] = out.Usage.Prompt, out.Usage.Completion
	r.c.t.d.Audit.Note(audit.Entry{
		Actor: "agent:" + r.speaker, OnBehalf: r.c.key.Sender, Action: audit.TalkRun, Target: r.c.id,
		Outcome: outcomeOf(out.Stop), Duration: time.Since(r.began), Detail: detail,
	})
}

func outcomeOf(s brain.Stop) string {
	if s == brain.StopDone || s == brain.StopSilent || s == brain.StopCalls {
		return "ok"
	}
	return s.String()
}

// trace is how the trail names a run: whose words began it, and by which credential.
func (r *running) trace() map[string]any {
	detail := r.tn.By.Trace()
	detail["run"], detail["by"] = r.tn.id, r.tn.By.String()
	return detail
}

// auditTool records one tool call; its arguments only as a digest.
func (r *running) auditTool(d *tool.Done) {
	if r.c.t.d.Audit == nil {
		return
	}
	detail := r.trace()
	detail["conversation"] = r.c.id
	r.c.t.d.Audit.Note(audit.Entry{
		Actor: "agent:" + r.speaker, OnBehalf: r.c.key.Sender, Action: audit.TalkTool, Target: valid(d.Call.Name),
		Outcome: d.Outcome(), Duration: d.Duration, Digest: audit.DigestText(d.Call.Arguments), Detail: detail,
	})
}

// endingOf is how a run ended, as the history tells it.
func endingOf(out brain.Outcome) memory.Outcome {
	switch out.Stop {
	case brain.StopDone:
		if out.Finish == model.FinishLength || out.Finish == model.FinishFilter {
			return memory.Outcome{How: memory.Cut, Code: string(out.Finish)}
		}
		return memory.Outcome{How: memory.Complete}
	case brain.StopSilent, brain.StopCalls:
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
