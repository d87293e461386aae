package work

import (
	"fmt"
	"strings"
	"testing"

	"parley.internal/internal/eventlog"
	"parley.internal/protocol/viber"
)

func logged(t *testing.T, seq int64, turn int, text string) eventlog.Event {
	t.Helper()
	e, err := encodeEvent(&viber.TaskDelta{TaskRef: viber.TaskRef{Turn: turn}, DeltaType: viber.DeltaText, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	e.Seq = seq
	return e
}

// merged is a log after its deltas were merged.
func merged(t *testing.T, most int, log ...eventlog.Event) []eventlog.Event {
	t.Helper()
	s := &shortening{most: most}
	after := int64(0)
	for _, e := range log {
		if err := s.merge(e, after, true); err != nil {
			t.Fatal(err)
		}
		after = e.Seq
	}
	s.close()
	return s.events
}

// A reader that has everything up to any number gets the rest of the text and
// nothing twice, from_seq being the first that it had not.
func TestMergedTextCanBeContinuedAfterEveryDelta(t *testing.T) {
	words := []string{"one ", "", "two ", "drei \U0001F41F ", "four"}
	var log []eventlog.Event
	for i, w := range words {
		log = append(log, logged(t, int64(i+1), 3, w))
	}
	twice := merged(t, 1000, append(merged(t, 1000, log[:3]...), log[3:]...)...)
	if len(twice) != 1 || twice[0].From != 1 || twice[0].Seq != 5 {
		t.Fatalf("%+v; want len(twice) to be 1, twice[0].From to be 1, twice[0].Seq to be 5", twice)
	}
	for after := range int64(5) {
		ev, err := decodeEvent("task", twice[0], after)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := ev.(*viber.TaskDelta)
		if want := strings.Join(words[after:], ""); d.Text != want || d.Seq != 5 || d.FirstSeq() != after+1 || d.Turn != 3 {
			t.Errorf("after %d: %+v, want %q", after, d, want)
		}
	}
}

func TestOnlyNeighboursOfOneTurnAreMerged(t *testing.T) {
	progress := eventlog.Event{Seq: 3, Kind: string(viber.TypeTaskProgress), Data: []byte("{}")}
	got := merged(t, 12, logged(t, 1, 1, "a"), logged(t, 2, 1, "b"), progress, logged(t, 4, 1, "c"), logged(t, 5, 2, "d"),
		logged(t, 6, 2, "0123456"), logged(t, 7, 2, "0123456"))
	var list []string
	for _, e := range got {
		list = append(list, fmt.Sprintf("%s %d-%d", e.Kind, e.From, e.Seq))
	}
	want := "texts 1-2, task:progress 0-3, text 0-4, texts 5-6, text 0-7"
	if strings.Join(list, ", ") != want {
		t.Errorf("%s; want strings.Join(list, \", \") to be %v", strings.Join(list, ", "), want)
	}
}
