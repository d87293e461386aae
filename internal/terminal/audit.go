package terminal

import (
	"maps"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
)

// note puts what somebody did into the trail: never what was typed or printed.
func (ts *Terminals) note(who identity.Actor, action audit.Action, t *terminal, outcome string, took time.Duration, more map[string]any) {
	if ts.d.Audit != nil {
		ts.d.Audit.Note(entry(who, action, t, outcome, took, more))
	}
}

func entry(who identity.Actor, action audit.Action, t *terminal, outcome string, took time.Duration, more map[string]any) audit.Entry {
	detail := map[string]any{"principal": who.Person.ID}
	for name, value := range map[string]string{"task": t.task, "by_token": who.TokenID, "by_page": who.PageID, "by_device": who.Device, "by_address": who.Address, "by_session": who.Connection} {
		if value != "" {
			detail[name] = value
		}
	}
	maps.Copy(detail, more)
	return audit.Entry{
		Actor: who.String(), OnBehalf: who.OnBehalf(), Action: action, Target: t.info.ID, Outcome: outcome, Duration: took, Detail: detail,
	}
}

// exited notes the end of a process.
func (ts *Terminals) exited(t *terminal) {
	if ts.d.Audit == nil {
		return
	}
	more := map[string]any{"exit_code": t.exit.ExitCode}
	if t.exit.Signal != "" {
		more["signal"] = t.exit.Signal
	}
	e := entry(identity.Hub(), audit.TerminalExited, t, "ok", time.Since(t.began), more)
	e.Actor, e.OnBehalf = "hub", t.creator.String()
	ts.d.Audit.Note(e)
}
