package talk

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// told is a box whose items are told, and what came of it.
func told(ctx context.Context, b *box[Event]) (words chan string, ended chan error) {
	words, ended = make(chan string, 16), make(chan error, 1)
	go func() { ended <- b.tell(ctx, func(ev Event) { words <- ev.Text }) }()
	return words, ended
}

func TestTellGivesWhatWaitsAndThenWhatComes(t *testing.T) {
	b := newBox(eventText)
	for _, word := range []string{"one", "two"} {
		b.put(Event{Kind: Chunk, Text: word})
	}
	words, ended := told(t.Context(), b)
	got := []string{<-words, <-words}
	b.put(Event{Kind: Chunk, Text: "three"})
	got = append(got, <-words)
	b.close(nil)
	b.put(Event{Kind: Chunk, Text: "late"})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(got, want) || len(words) > 0 {
		t.Errorf("told %q and %d more, want %q", got, len(words), want)
	}
}

func TestTellEndsWithItsContextAndTakesNothingMore(t *testing.T) {
	b := newBox(eventText)
	ctx, cancel := context.WithCancelCause(t.Context())
	words, ended := told(ctx, b)
	left := errors.New("left")
	cancel(left)
	if err := <-ended; !errors.Is(err, left) {
		t.Fatal(err)
	}
	b.put(Event{Kind: Chunk, Text: "for whoever comes next"})
	if items, _, _ := b.drain(); len(items) != 1 || len(words) > 0 {
		t.Errorf("%d kept, %d told", len(items), len(words))
	}
}

func TestTellGivesWhyItWasCut(t *testing.T) {
	b := newBox(eventText)
	_, ended := told(t.Context(), b)
	b.close(ErrUnavailable)
	if err := <-ended; !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
}
