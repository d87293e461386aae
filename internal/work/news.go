package work

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/bus"
	"parley.internal/protocol/viber"
)

// news is an event of a task's life that the task's owner tells all hubs about. The
// store is the record; this only makes people know sooner.
type news struct {
	Task  string `json:"task"`
	Agent string `json:"agent"`
	Seq   int64  `json:"seq"`
	Kind  string `json:"kind"`
	// Data is missing when it is too large: whoever needs it reads event Seq.
	Data jsontext.Value `json:"data,omitzero"`
}

func newsSubject(principal string) string { return "work." + bus.Token(principal) }

// isNews tells which events are told to everybody of the person: those of a task's
// life, questions, and a budget that is nearly spent, which changes the agent's state.
func isNews(ev viber.TaskEvent) bool {
	switch ev := ev.(type) {
	case *viber.TaskStarted, *viber.ApprovalRequired, *viber.ApprovalResolved:
		return true
	case *viber.TaskProgress:
		return ev.Budget != nil && ev.Budget.Warning
	}
	return viber.Ends(ev)
}

// announce tells a person's desks of an event that is in the log.
func (w *Work) announce(t *task, ev viber.TaskEvent) {
	e, err := encodeEvent(ev)
	n := news{Task: t.id, Agent: t.agentName(), Seq: ev.Ref().Seq, Kind: e.Kind, Data: e.Data}
	if len(n.Data) > w.d.Bus.MaxPayload()/2 {
		n.Data = nil
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(&n)
	}
	if err == nil {
		err = w.d.Bus.Publish(newsSubject(t.principal), data)
	}
	if err != nil && !errors.Is(err, bus.ErrClosed) {
		w.d.Logger.Warn("desks miss news of a task", "task", t.id, "error", err)
	}
}

// event is the event that news is about; nil if it is gone.
func (w *Work) newsEvent(ctx context.Context, n *news) viber.TaskEvent {
	data := []byte(n.Data)
	if data == nil {
		page, err := w.d.Log.Read(ctx, streamName(n.Task), n.Seq-1, 1)
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
	return ev
}
