package work

import (
	"database/sql"
	"maps"

	"parley.internal/internal/store"
	"parley.internal/protocol/viber"
)

// agents is what a person's agents are doing, as the events tell that were taken in so
// far. It is made from nothing else: whoever shows the events in their order shows the
// states in their order, too.
type agents struct {
	open   map[string]openTask
	failed map[string]bool // agents whose last task ended with an error
	shown  map[string]viber.AgentStatus
}

// openTask is a task that has not ended, after event seq.
type openTask struct {
	agent string
	seq   int64
	asks  map[string]bool // the questions it waits for
}

func newAgents() *agents {
	return &agents{open: map[string]openTask{}, failed: map[string]bool{}, shown: map[string]viber.AgentStatus{}}
}

func (a *agents) clone() *agents {
	c := &agents{open: make(map[string]openTask, len(a.open)), failed: maps.Clone(a.failed), shown: maps.Clone(a.shown)}
	for id, t := range a.open {
		t.asks = maps.Clone(t.asks)
		c.open[id] = t
	}
	return c
}

// read takes in the person's tasks that have not ended.
func (a *agents) read(tx *store.Tx, person string) error {
	return tx.Each(func(row *sql.Rows) error {
		var id, agent string
		var seq int64
		err := row.Scan(&id, &agent, &seq)
		a.open[id] = openTask{agent: agent, seq: seq, asks: map[string]bool{}}
		return err
	}, `SELECT t.id, t.agent, s.last_seq FROM work_tasks t JOIN streams s ON s.name = 'task.' || t.id WHERE t.principal = ? AND t.ended_at = 0`, person)
}

// knows tells whether an event was taken in before.
func (a *agents) knows(ev viber.TaskEvent) bool {
	t, open := a.open[ev.Ref().TaskID]
	return open && ev.Ref().Seq <= t.seq
}

// take takes in an event and gives the agent's state if that changed. An event that is
// known, or of a task that is not, changes nothing.
func (a *agents) take(ev viber.TaskEvent) *viber.StatusAgent {
	ref := ev.Ref()
	t, open := a.open[ref.TaskID]
	if s, ok := ev.(*viber.TaskStarted); ok && !open && !s.Replayed {
		t, open = openTask{agent: s.Agent, asks: map[string]bool{}}, true
	}
	if !open || ref.Seq <= t.seq {
		return nil
	}
	t.seq = ref.Seq
	a.open[ref.TaskID] = t
	var budget *viber.Budget
	switch ev := ev.(type) {
	case *viber.ApprovalRequired:
		t.asks[ev.ApprovalID] = true
	case *viber.ApprovalResolved:
		delete(t.asks, ev.ApprovalID)
	case *viber.TaskProgress:
		if ev.Budget != nil && ev.Budget.Warning {
			budget = ev.Budget
		}
	}
	if viber.Ends(ev) {
		delete(a.open, ref.TaskID)
		_, a.failed[t.agent] = ev.(*viber.TaskError)
	}
	return a.changed(t.agent, ref.TaskID, budget)
}

// changed is the agent's state if it is not the one that was shown last.
func (a *agents) changed(agent, task string, budget *viber.Budget) *viber.StatusAgent {
	s := a.state(agent, task)
	if s.Status == a.lastShown(agent) && budget == nil {
		return nil
	}
	a.shown[agent] = s.Status
	if budget != nil {
		s.BudgetUsedUSD, s.BudgetLimitUSD = &budget.UsedUSD, &budget.LimitUSD
	}
	return s
}

func (a *agents) lastShown(agent string) viber.AgentStatus {
	if s, ok := a.shown[agent]; ok {
		return s
	}
	return viber.AgentIdle
}

// state is what an agent does: it runs if one of the person's tasks does, else it is
// paused if one waits for a person, else its last task failed or it is idle. The task
// that is news is named, if the state is its.
func (a *agents) state(agent, task string) *viber.StatusAgent {
	for _, s := range []viber.AgentStatus{viber.AgentRunning, viber.AgentPaused} {
		current := ""
		for id, t := range a.open {
			is := viber.AgentRunning
			if len(t.asks) > 0 {
				is = viber.AgentPaused
			}
			if t.agent == agent && is == s && (current == "" || id == task || current != task && id > current) {
				current = id
			}
		}
		if current != "" {
			return &viber.StatusAgent{AgentID: agent, Status: s, CurrentTaskID: current}
		}
	}
	if a.failed[agent] {
		return &viber.StatusAgent{AgentID: agent, Status: viber.AgentError}
	}
	return &viber.StatusAgent{AgentID: agent, Status: viber.AgentIdle}
}
