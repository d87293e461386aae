package terminal

import (
	"maps"
	"time"

	"parley/internal/audit"
)

// note puts what somebody did into the trail: never what was typed or printed.
func (ts *Terminals) note(who Who, action audit.Action, t *terminal, outcome string, took time.Duration, more map[string]any) {
	if ts.d.Audit == nil {
		return
	}
	detail := map[string]any{"principal": who.Principal}
	for name, value := range map[string]string{"task": t.task, "by_token": who.Token, "by_device": who.Device, "by_address": who.Address, "by_session": who.Session} {
		if value != "" {
			detail[name] = value
		}
	}
	maps.Copy(detail, more)
	ts.d.Audit.Note(audit.Entry{
		Actor: who.Actor, OnBehalf: who.OnBehalf, Action: action, Target: t.info.ID, Outcome: outcome, Duration: took, Detail: detail,
	})
}

// exited notes the end of a process.
func (ts *Terminals) exited(t *terminal) {
	more := map[string]any{"exit_code": t.exit.ExitCode}
	if t.exit.Signal != "" {
		more["signal"] = t.exit.Signal
	}
	ts.note(Who{Principal: t.owner, Actor: "hub", OnBehalf: t.creator.Actor}, audit.TerminalExited, t, "ok", time.Since(t.began), more)
}
