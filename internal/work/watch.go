package work

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/approval"
	"parley/internal/bus"
	"parley/internal/identity"
	"parley/internal/store"
	"parley/protocol/viber"
)

// news is what the owner of a task tells the hubs about it. The store is the
// record; this only makes devices know sooner.
type news struct {
	Task   string           `json:"task"`
	Origin string           `json:"origin,omitzero"`
	Agent  string           `json:"agent"`
	Status viber.TaskStatus `json:"status"`
	Seq    int64            `json:"seq"`
	// Kind and Data are an event; Data is missing when it is too large, and
	// whoever needs it reads event Seq.
	Kind string         `json:"kind,omitzero"`
	Data jsontext.Value `json:"data,omitzero"`
	// Budget comes with a warning.
	Budget *viber.Budget `json:"budget,omitzero"`
}

func newsSubject(principal string) string { return "work." + bus.Token(principal) }

// announce tells a person's devices of an event that is in the log.
func (w *Work) announce(t *task, ev viber.TaskEvent) {
	n := t.news(ev.Ref().Seq)
	e, err := encodeEvent(ev)
	if err != nil {
		w.d.Logger.Warn("devices miss an event", "task", t.id, "error", err)
		return
	}
	n.Kind, n.Data = e.Kind, e.Data
	if len(n.Data) > w.d.Bus.MaxPayload()/2 {
		n.Data = nil
	}
	w.tell(t, n)
}

func (t *task) news(seq int64) news {
	return news{Task: t.id, Origin: t.spec.Origin, Agent: t.agentName(), Status: t.status, Seq: seq}
}

// tellStatus says what the task is doing, after event seq.
func (t *task) tellStatus(seq int64) { t.w.tell(t, t.news(seq)) }

// tellBudget says that a budget is nearly spent.
func (t *task) tellBudget(seq int64, b *viber.Budget) {
	n := t.news(seq)
	n.Budget = b
	t.w.tell(t, n)
}

func (w *Work) tell(t *task, n news) {
	data, err := json.Marshal(&n)
	if err == nil {
		err = w.d.Bus.Publish(newsSubject(t.principal), data)
	}
	if err != nil && !errors.Is(err, bus.ErrClosed) {
		w.d.Logger.Warn("devices miss news of a task", "task", t.id, "error", err)
	}
}

// maxNotices is how many may wait for a device before it is cut.
const maxNotices = 4096

// watcher is one device that watches a person's tasks.
type watcher struct {
	w    *Work
	who  identity.Actor
	wake chan struct{}

	mu     sync.Mutex
	queue  []any // *news, an approval.Event of something that is no task, or an error
	lagged bool

	// The reader's own.
	agents map[string]*agentState
	asked  map[string]bool // approvals that were shown
}

// agentState is what an agent is doing for the person.
type agentState struct {
	tasks map[string]viber.TaskStatus
	shown viber.AgentStatus
}

// Watch gives what waits for the caller and what happens. See [API].
func (w *Work) Watch(ctx context.Context, who identity.Actor) iter.Seq2[Notice, error] {
	return func(yield func(Notice, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		o := &watcher{w: w, who: who, wake: make(chan struct{}, 1), agents: map[string]*agentState{}, asked: map[string]bool{}}
		// Listen first: what happens while the present is read is news.
		sub, err := w.d.Bus.Subscribe(newsSubject(who.Person.ID), o.hear)
		if err != nil {
			cancel()
			yield(Notice{}, err)
			return
		}
		defer sub.Close()
		var inbox sync.WaitGroup
		ready := make(chan struct{})
		inbox.Go(func() { o.watchInbox(ctx, ready) })
		defer inbox.Wait()
		defer cancel()
		if err := o.run(ctx, sub, ready, yield); err != nil {
			yield(Notice{}, err)
		}
	}
}

func (o *watcher) hear(m bus.Msg) {
	var n news
	if json.Unmarshal(m.Data, &n) == nil {
		o.put(&n)
	}
}

func (o *watcher) put(item any) {
	o.mu.Lock()
	if len(o.queue) >= maxNotices {
		o.queue, o.lagged = nil, true
	}
	if !o.lagged {
		o.queue = append(o.queue, item)
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// watchInbox brings in the questions that are no events of the person's own tasks:
// conversations, machines, and what others want this person to agree to.
func (o *watcher) watchInbox(ctx context.Context, ready chan<- struct{}) {
	for ev, err := range o.w.d.Inbox.Watch(ctx, o.who.Person.ID) {
		switch {
		case err != nil:
			if ctx.Err() == nil {
				o.put(err)
			}
			return
		case ev.Kind == approval.Ready:
			close(ready)
		case ev.Item.Task == "" || ev.Item.Principal != o.who.Person.ID:
			o.put(ev)
		}
	}
}

// run shows the present, then the news.
func (o *watcher) run(ctx context.Context, sub bus.Subscription, ready <-chan struct{}, yield func(Notice, error) bool) error {
	present, err := o.present(ctx)
	if err != nil {
		return err
	}
	for _, n := range present {
		if !yield(n, nil) {
			return nil
		}
	}
	for {
		queue, lagged := o.drain()
		for _, item := range queue {
			if err, ok := item.(error); ok {
				return err
			}
			for _, n := range o.notices(ctx, item) {
				if !yield(n, nil) {
					return nil
				}
			}
		}
		if lagged {
			return ErrLagged
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-ready:
			// Everything the inbox had is in the queue by now.
			ready = nil
			if queue, _ := o.peek(); queue {
				o.put(&readyMark{})
			} else if !yield(Notice{Ready: true}, nil) {
				return nil
			}
		case <-o.wake:
		case <-sub.Lagged():
			return ErrLagged
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-o.w.ctx.Done():
			return ErrShuttingDown
		}
	}
}

// readyMark stands in the queue where the present ends.
type readyMark struct{}

func (o *watcher) peek() (waiting, lagged bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) > 0, o.lagged
}

func (o *watcher) drain() (queue []any, lagged bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	queue, o.queue = o.queue, nil
	return queue, o.lagged
}

// present reads the questions of the person's tasks, and what agents are doing.
func (o *watcher) present(ctx context.Context) (list []Notice, err error) {
	me := o.who.Person.ID
	err = o.w.d.DB.Read(ctx, func(tx *store.Tx) error {
		list = nil
		open, err := pendingApprovals(tx, `principal = ?`, me)
		if err != nil {
			return err
		}
		for i := range open {
			list = append(list, Notice{Task: open[i].TaskID, Seq: open[i].Seq, Event: &open[i]})
		}
		rows, err := tx.Query(`SELECT id, agent, status FROM work_tasks WHERE principal = ? AND ended_at = 0`, me)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id, agent string
			var status viber.TaskStatus
			if err := rows.Scan(&id, &agent, &status); err != nil {
				return err
			}
			a := o.agent(agent)
			a.tasks[id] = status
			a.shown = a.wire(agent, "").Status
		}
		return rows.Err()
	})
	for _, n := range list {
		if a, ok := n.Event.(*viber.ApprovalRequired); ok {
			o.asked[a.ApprovalID] = true
		}
	}
	return list, err
}

func (o *watcher) agent(name string) *agentState {
	a := o.agents[name]
	if a == nil {
		a = &agentState{tasks: map[string]viber.TaskStatus{}}
		a.shown = viber.AgentIdle
		o.agents[name] = a
	}
	return a
}

// notices makes what the device is shown of one item.
func (o *watcher) notices(ctx context.Context, item any) []Notice {
	switch item := item.(type) {
	case *readyMark:
		return []Notice{{Ready: true}}
	case approval.Event:
		return o.question(ctx, item)
	case *news:
		return o.happened(ctx, item)
	}
	return nil
}

// happened shows an event and, if the agent does something else now, its status.
func (o *watcher) happened(ctx context.Context, n *news) (list []Notice) {
	if ev := o.event(ctx, n); ev != nil {
		list = append(list, Notice{Task: n.Task, Origin: n.Origin, Seq: n.Seq, Event: ev})
	}
	a := o.agent(n.Agent)
	if n.Status.Ended() {
		delete(a.tasks, n.Task)
	} else {
		a.tasks[n.Task] = n.Status
	}
	status := a.wire(n.Agent, n.Task)
	if n.Budget != nil {
		status.BudgetUsedUSD, status.BudgetLimitUSD = &n.Budget.UsedUSD, &n.Budget.LimitUSD
	}
	// News of an event comes before the news of the state it leads to: a state that
	// changes with an event is shown after it all the same.
	if status.Status != a.shown || n.Budget != nil {
		a.shown = status.Status
		list = append(list, Notice{Task: n.Task, Origin: n.Origin, Seq: n.Seq, Status: status})
	}
	return list
}

// event reads the event of a piece of news; a question that was shown already is
// not shown again.
func (o *watcher) event(ctx context.Context, n *news) viber.TaskEvent {
	if n.Kind == "" {
		return nil
	}
	data := []byte(n.Data)
	if data == nil {
		page, err := o.w.d.Log.Read(ctx, streamName(n.Task), n.Seq-1, 1)
		if err != nil || len(page) == 0 {
			return nil
		}
		data = page[0].Data
	}
	ev, err := decodePayload(viber.Type(n.Kind), data)
	if err != nil {
		return nil
	}
	ref := ev.Ref()
	ref.TaskID, ref.Seq = n.Task, n.Seq
	switch ev := ev.(type) {
	case *viber.ApprovalRequired:
		if o.asked[ev.ApprovalID] {
			return nil
		}
		o.asked[ev.ApprovalID] = true
	case *viber.ApprovalResolved:
		delete(o.asked, ev.ApprovalID)
	}
	return ev
}

// wire is the agent's state: it runs if one of the person's tasks does, else it is
// paused if one waits for a person, else idle. The task that is news is named, if
// the state is its.
func (a *agentState) wire(name, task string) *viber.StatusAgent {
	for _, s := range []struct {
		of viber.TaskStatus
		is viber.AgentStatus
	}{{viber.TaskRunning, viber.AgentRunning}, {viber.TaskPaused, viber.AgentPaused}} {
		current := ""
		for id, status := range a.tasks {
			if status == s.of && (current == "" || id == task || current != task && id > current) {
				current = id
			}
		}
		if current != "" {
			return &viber.StatusAgent{AgentID: name, Status: s.is, CurrentTaskID: current}
		}
	}
	return &viber.StatusAgent{AgentID: name, Status: viber.AgentIdle}
}
