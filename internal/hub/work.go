package hub

import (
	"context"
	"errors"
	"time"

	"parley.internal/internal/approval"
	"parley.internal/internal/brain"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/tool"
	"parley.internal/internal/bus"
	"parley.internal/internal/eventlog"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	"parley.internal/internal/foreign"
	"parley.internal/internal/hub/metrics"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge"
	"parley.internal/internal/talk/memory"
	"parley.internal/internal/work"
	"parley.internal/protocol/viber"
)

// workPart is tasks. Whoever serves them drains after them: a board that closes
// once h.work.Drain has returned shows how its tasks ended.
func (h *Hub) workPart() part {
	return part{
		name: "work", open: h.openWork,
		faces: func(context.Context) error { return h.metrics.Register(metrics.Work(h.work)) },
		routes: func(_ *front.Routes, rest *api.API) error {
			api.RegisterTasks(rest, h.work)
			return nil
		},
		count: func(_ context.Context, _ identity.Actor, counts map[string]int64) error {
			s := h.work.Stats()
			counts["tasks_running"], counts["tasks_paused"] = int64(s.Running), int64(s.Paused)
			return nil
		},
		drain: func(ctx context.Context) error {
			h.work.Drain(ctx)
			return nil
		},
	}
}

func (h *Hub) openWork(ctx context.Context) error {
	mem := memory.New(h.db)
	w, err := work.New(work.Deps{
		DB: h.db, Log: eventlog.New(h.db, h.bus, h.logger), Leases: h.leases, Bus: h.bus, Agents: taskAgents{h.minds}, Models: taskModels{h.minds},
		Inbox: h.inbox, Terminals: agentTerminals{h.terminals, h.terminalWayOut}, Ledger: h.minds.ledger, Audit: h.trail, Files: h.files, Skills: h.minds.shelf.Usable, Policy: h.minds.policy,
		Tools: func(ctx context.Context, s work.ToolScope) ([]*tool.Tool, error) {
			return h.minds.toolsFor(ctx, s.Agent, s.Names, s.Workspace, false)
		},
		Recall: func(ctx context.Context, agent, sender, query string, limit int) (any, error) {
			return recall(ctx, mem, agent, sender, query, limit)
		},
		MaxMode: viber.Mode(h.conf.Policy.MaxMode), Rules: h.approvalRules(ctx),
		Mask: h.mask, Attended: h.attended, FailUnattended: h.conf.Budget.Unattended == "fail", Ended: h.hasEnded,
		Workspace: h.spaces.Dir, Clustered: h.conf.NATS != "", Logger: h.logger,
		Limits: work.Limits{
			RunningPerPrincipal: h.conf.Board.Limits.MaxRunningTasks, QueuedMessages: h.conf.Board.Limits.MaxQueuedMessages,
			SubmitsPerMinute: h.conf.Board.Limits.SubmitsPerMinute, SubmitBurst: h.conf.Board.Limits.SubmitsPerMinute / 2,
			Drain: min(h.conf.ShutdownGrace, 10*time.Second),
		},
	})
	if err != nil {
		return err
	}
	h.work = w
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace)
		defer cancel()
		return w.Close(ctx)
	})
	if h.opts.Quiet {
		return nil
	}
	return w.Start(ctx)
}

// taskAgents are the hub's own agents, and foreign ones that have no agent's file.
type taskAgents struct{ *minds }

// Get finds an agent.
func (a taskAgents) Get(name string) (*brain.Agent, error) {
	own, err := a.agents.Get(name)
	if !errors.Is(err, brain.ErrNoAgent) {
		return own, err
	}
	agent, failed := a.foreign.Agent(name)
	if errors.Is(failed, foreign.ErrUnknown) {
		return nil, err
	}
	return agent, failed
}

// taskModels are the hub's models, and foreign agents in the place of one.
type taskModels struct{ *minds }

// Resolve finds a model.
func (m taskModels) Resolve(ref string) (brain.Model, error) {
	if r := model.ParseRef(ref); r.Provider == foreign.Provider {
		return m.foreign.Model(r.Model)
	}
	return m.models.Resolve(ref)
}

// attended reports whether somebody who may answer is connected, to whatever hub.
// Boards say so; without any, the inbox is open all the same.
func (h *Hub) attended(principal string) bool {
	return h.present == nil || h.present(principal) || h.conf.NATS != "" && attendedElsewhere(h.bus, principal)
}

const (
	// subjectAttended is where hubs ask each other whether a person is there.
	subjectAttended = "board.attended"
	// attendedTime is how long a hub that knows the person may take to say so. Those
	// that do not are silent.
	attendedTime = time.Second
)

// answerAttended tells other hubs who is here.
func answerAttended(b bus.Bus, here func(principal string) bool) (bus.Subscription, error) {
	return b.Subscribe(subjectAttended, func(m bus.Msg) {
		if m.Respond != nil && here(string(m.Data)) {
			_ = m.Respond([]byte("yes")) // whoever asked counts silence as a no
		}
	})
}

func attendedElsewhere(b bus.Bus, principal string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), attendedTime)
	defer cancel()
	_, err := b.Request(ctx, subjectAttended, []byte(principal))
	return err == nil
}

// hasEnded reports whether what somebody came with has ended. A database that cannot be
// asked ends nobody: what came with it was good when it came.
func (h *Hub) hasEnded(who identity.Actor) bool {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	_, err := h.people.Standing(ctx, who)
	return errors.Is(err, identity.ErrRefused) || errors.Is(err, identity.ErrNotFound)
}

// approvalRules are those of the settings, where people are called by name or id.
func (h *Hub) approvalRules(ctx context.Context) judge.Rules {
	if h.rules != nil {
		return h.rules
	}
	out := make(judge.Rules, len(h.conf.Policy.Approvals))
	for i, r := range h.conf.Policy.Approvals {
		out[i] = judge.Rule{
			Tools: r.Tools, Class: r.Class, Need: judge.Need{Quorum: r.Quorum, Policy: approval.Policy{Scope: r.Scope, NotAsker: r.NotAsker}},
		}
		for _, name := range r.People {
			person, err := h.people.Person(ctx, name)
			if err != nil {
				h.logger.Warn("policy.approvals: nobody has this name; they can agree once they exist and the hub is started anew", "name", name)
				continue
			}
			out[i].People = append(out[i].People, person.ID)
		}
	}
	h.rules = out
	return out
}

// recalled is what a task remembers of its person.
type recalled struct {
	Title     string    `json:"title,omitempty"`
	At        time.Time `json:"at"`
	Speaker   string    `json:"speaker"`
	Text      string    `json:"text"`
	ArchiveID string    `json:"archive_id,omitempty"`
}

// recall searches what an agent and a sender said to each other.
func recall(ctx context.Context, mem *memory.Memory, agent, sender, query string, limit int) (any, error) {
	found, err := mem.Search(ctx, memory.Query{Text: query, Any: true, Agent: agent, Sender: sender, Limit: limit, Near: -1})
	if err != nil {
		return nil, err
	}
	list := make([]recalled, len(found.Hits))
	for i, hit := range found.Hits {
		speaker := hit.Speaker
		if speaker == "" {
			speaker = hit.Role
		}
		list[i] = recalled{Title: hit.Title, At: hit.At, Speaker: speaker, Text: hit.Snippet, ArchiveID: hit.ArchiveID}
	}
	return map[string]any{"found": list}, nil
}
