package owner

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// op is what a message between hubs is for.
type op string

const (
	opAsk    op = "ask"    // answered by Do, or by DoHub when no thing is named
	opCancel op = "cancel" // whoever asked does not wait any more
	opMore   op = "more"   // the next piece of a large body
	opFollow op = "follow" // opens a stream
	opNext   op = "next"   // what a stream has since
	opLeave  op = "leave"  // closes a stream
	opFind   op = "find"   // does a thing live there?
)

// head is the first line of every message between hubs, as JSON; the body follows as it
// is. It comes from a hub of this cluster, because the bus takes nothing from anybody
// else: what that hub has checked about who asks is believed.
type head struct {
	Op op `json:"op,omitzero"`
	// From is the hub that asks, and Ask its own name for the question.
	From string `json:"from,omitzero"`
	Ask  string `json:"ask,omitzero"`
	// Thing is what the question is about; empty: the hub itself.
	Thing string `json:"thing,omitzero"`
	// Wait is how much longer the asker waits, in microseconds; 0: as long as it lives.
	Wait int64 `json:"wait,omitzero"`
	// Size is the length of a body of which the message has only the beginning.
	Size int `json:"size,omitzero"`
	// At is where a piece begins, or which batch of a stream is asked for.
	At int64 `json:"at,omitzero"`
	// Error is the name of an error and Text how it was put.
	Error string `json:"error,omitzero"`
	Text  string `json:"text,omitzero"`
}

// lenient lets through what people and programs print, which is not ours to judge, and
// durations, as nanoseconds. What is there and empty stays there: an empty grant is not
// the same as none.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsonv1.FormatDurationAsNano(true), jsonv1.OmitEmptyWithLegacySemantics(true))

var errNoHead = errors.New("owner: a message without a head")

func (h head) message(body []byte) ([]byte, error) {
	line, err := json.Marshal(h, lenient)
	if err != nil {
		return nil, err
	}
	return append(append(line, '\n'), body...), nil
}

func parse(msg []byte) (h head, body []byte, err error) {
	line, body, found := bytes.Cut(msg, []byte{'\n'})
	if !found {
		return h, nil, errNoHead
	}
	if err := json.Unmarshal(line, &h, lenient); err != nil {
		return head{}, nil, err
	}
	if h.Size < 0 || h.Size > MaxBody || h.At < 0 || h.Wait < 0 {
		return head{}, nil, errNoHead
	}
	return h, body, nil
}

// key names a question among those of all hubs.
func (h head) key() string { return h.From + " " + h.Ask }
