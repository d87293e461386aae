package work

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/internal/eventlog"
	"parley.internal/protocol/viber"
)

// textKind marks text deltas, nearly all of a log: their data is the turn and the
// text itself. Every other event is its payload as JSON, under its wire type.
const textKind = "text"

// anyText lets texts of models be written that are no UTF-8; a replacement takes
// the place of what is none.
var anyText = jsontext.AllowInvalidUTF8(true)

var errTorn = errors.New("work: a logged event cannot be read")

// encodeEvent makes the logged form. Task and seq are the stream's and the log's.
func encodeEvent(ev viber.TaskEvent) (eventlog.Event, error) {
	if d, ok := ev.(*viber.TaskDelta); ok && d.DeltaType == viber.DeltaText {
		data := binary.AppendUvarint(make([]byte, 0, len(d.Text)+3), uint64(d.Turn))
		return eventlog.Event{Kind: textKind, Data: append(data, d.Text...)}, nil
	}
	data, err := json.Marshal(ev, anyText)
	return eventlog.Event{Kind: string(ev.Type()), Data: data}, err
}

// decodeEvent reads the logged form, for a reader that has everything up to a number.
func decodeEvent(task string, e eventlog.Event, after int64) (viber.TaskEvent, error) {
	ev, err := decodeAfter(e, after)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %d: %w", errTorn, task, e.Seq, err)
	}
	ref := ev.Ref()
	ref.TaskID, ref.Seq, ref.At = task, e.Seq, e.At
	return ev, nil
}

func decodeAfter(e eventlog.Event, after int64) (viber.TaskEvent, error) {
	if e.Kind != textsKind {
		return decodePayload(viber.Type(e.Kind), e.Data)
	}
	x, err := splitTexts(e)
	if err != nil {
		return nil, err
	}
	x.skip(after)
	return x.delta(), nil
}

func decodePayload(kind viber.Type, data []byte) (viber.TaskEvent, error) {
	if kind == textKind {
		turn, n := binary.Uvarint(data)
		if n <= 0 || turn > 1<<31 {
			return nil, errTorn
		}
		return &viber.TaskDelta{TaskRef: viber.TaskRef{Turn: int(turn)}, DeltaType: viber.DeltaText, Text: string(data[n:])}, nil
	}
	ev := newPayload(kind)
	if ev == nil {
		return nil, fmt.Errorf("unknown kind %q", kind)
	}
	if err := json.Unmarshal(data, ev); err != nil {
		return nil, err
	}
	return ev, nil
}

func newPayload(kind viber.Type) viber.TaskEvent {
	switch kind {
	case viber.TypeTaskStarted:
		return new(viber.TaskStarted)
	case viber.TypeTaskProgress:
		return new(viber.TaskProgress)
	case viber.TypeTaskDelta:
		return new(viber.TaskDelta)
	case viber.TypeTaskUserMessage:
		return new(viber.TaskUserMessage)
	case viber.TypeApprovalRequired:
		return new(viber.ApprovalRequired)
	case viber.TypeApprovalResolved:
		return new(viber.ApprovalResolved)
	case viber.TypeTaskCompleted:
		return new(viber.TaskCompleted)
	case viber.TypeTaskError:
		return new(viber.TaskError)
	case viber.TypeTaskStopped:
		return new(viber.TaskStopped)
	}
	return nil
}
