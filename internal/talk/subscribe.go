package talk

import (
	"context"
	"iter"
	"time"

	"parley.internal/internal/identity"
)

// watcher is one subscriber to everything.
type watcher struct {
	who    identity.Actor
	filter Filter
	box    *box[Activity]
}

func activityText(a *Activity) (*string, string, Kind) {
	return &a.Event.Text, a.Event.Run, a.Event.Kind
}

// Subscribe gives all activity the caller may see. See [API].
func (t *Talk) Subscribe(ctx context.Context, who identity.Actor, f Filter) iter.Seq2[Activity, error] {
	return func(yield func(Activity, error) bool) {
		w := &watcher{who: who, filter: f, box: newBox(activityText)}
		t.mu.Lock()
		if t.closing {
			t.mu.Unlock()
			yield(Activity{}, ErrUnavailable)
			return
		}
		t.watchers[w] = struct{}{}
		t.watched.Add(1)
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			delete(t.watchers, w)
			t.watched.Add(-1)
			t.mu.Unlock()
		}()
		w.box.each(ctx, yield)
	}
}

func (w *watcher) sees(key Key) bool {
	return may(w.who, key.Sender) && (w.filter.Agent == "" || w.filter.Agent == key.Agent) && (w.filter.Sender == "" || w.filter.Sender == key.Sender)
}

// relay passes an event of this hub's own conversations on.
func (t *Talk) relay(f *feed, n mark, ev Event) {
	if !f.hidden && t.watched.Load() > 0 {
		t.watch(f.key, f.speaker(ev), ev)
	}
	t.cluster.send(f, n, ev)
}

// speaker is the agent an event is of.
func (f *feed) speaker(ev Event) string {
	switch {
	case ev.Agent != "":
		return ev.Agent
	case f.now.Start != nil && f.now.Start.Run == ev.Run:
		return f.now.Start.Agent
	}
	return f.key.Agent
}

func (t *Talk) watch(key Key, speaker string, ev Event) {
	if ev.Kind == stored {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.watchers {
		if w.sees(key) {
			w.box.put(Activity{Key: key, Speaker: speaker, At: time.Now().UTC(), Event: ev})
		}
	}
}
