package work

import (
	"maps"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/brain/tool"
	"parley.internal/protocol/viber"
)

func digestText(s string) string { return audit.DigestText(s) }

// note puts something a person did into the trail, without content.
func (w *Work) note(t *task, action audit.Action, outcome string, took time.Duration, detail map[string]any) {
	if w.d.Audit == nil {
		return
	}
	maps.Copy(detail, t.spec.By.Trace())
	if agent := t.agentName(); agent != "" {
		detail["agent"] = agent
	}
	w.d.Audit.Note(audit.Entry{Actor: t.spec.By.String(), Action: action, Target: t.id, Outcome: outcome, Duration: took, Detail: detail})
}

func (w *Work) noteMessage(t *task, q *queued) {
	if w.d.Audit == nil {
		return
	}
	detail := q.By.Trace()
	detail["mode"], detail["message"] = string(q.Mode), q.ID
	w.d.Audit.Note(audit.Entry{Actor: q.By.String(), Action: audit.TaskMessage, Target: t.id, Digest: digestText(q.Message.Content), Detail: detail})
}

func (w *Work) noteRefused(t *task, q *queued) {
	if w.d.Audit != nil {
		detail := q.By.Trace()
		detail["message"] = q.ID
		w.d.Audit.Note(audit.Entry{Actor: q.By.String(), Action: audit.TaskMessage, Target: t.id, Outcome: "revoked", Detail: detail})
	}
}

// auditEnd records how a task ended.
func (t *task) auditEnd(ev viber.TaskEvent) {
	outcome, detail := "ok", map[string]any{
		"prompt_tokens": t.usage.Prompt, "completion_tokens": t.usage.Completion, "turns": t.turn, "status": string(t.status),
	}
	if t.usage.CostKnown {
		detail["cost_usd"] = usd(t.usage.CostMicros)
	}
	switch ev := ev.(type) {
	case *viber.TaskError:
		outcome = string(ev.Error.Type)
	case *viber.TaskStopped:
		outcome, detail["by"] = "stopped", ev.By
	}
	t.w.note(t, audit.TaskEnded, outcome, t.ended.Sub(t.started), detail)
}

// auditCall records one tool call; its arguments only as a digest.
func (t *task) auditCall(c *openCall, err error, failed bool) {
	if t.w.d.Audit == nil {
		return
	}
	e := audit.Entry{
		Actor: "agent:" + t.agentName(), OnBehalf: t.spec.By.String(), Action: audit.TaskTool, Target: valid(c.Name), Digest: digestText(c.Arguments),
		Detail: t.spec.By.Trace(),
	}
	e.Detail["task"], e.Detail["call"] = t.id, c.ID
	switch {
	case err != nil:
		e.Outcome = string(tool.TypeOf(err))
	case failed:
		e.Outcome = string(tool.Unknown)
	}
	if !c.began.IsZero() {
		e.Duration = time.Since(c.began)
	}
	if c.approval != "" {
		e.Detail["approval"] = c.approval
	}
	t.w.d.Audit.Note(e)
}

func (t *task) noteBudget(action audit.Action, l budgetLimit) {
	t.w.note(t, action, "", 0, map[string]any{"span": l.span, "used_usd": usd(l.used), "limit_usd": usd(l.limit)})
}
