package brain

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"

	"parley.internal/internal/wake"
)

const (
	// settle is how long a folder must be quiet before it is read: editors write
	// in several steps.
	settle = 100 * time.Millisecond
	// pollEvery is for systems without file notifications.
	pollEvery = time.Second
)

// Watch follows the folder until ctx ends, and the other hubs if the agents are
// shared, so that a change counts within two seconds. Where the system gives no
// notifications it looks every second.
func (l *Library) Watch(ctx context.Context) {
	news := wake.New()
	if l.shared != nil {
		sub, err := l.shared.hear(news)
		if err != nil {
			l.log.Warn("watching shared agents", "error", err)
		} else {
			defer sub.Close()
		}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		err = w.Add(l.dir)
	}
	if err != nil {
		l.log.Warn("no file notifications; looking every second", "folder", l.dir, "error", err)
		l.poll(ctx, news)
		return
	}
	l.refresh() // what changed before the watch began
	l.follow(ctx, w, news)
}

func (l *Library) follow(ctx context.Context, w *fsnotify.Watcher, news <-chan struct{}) {
	quiet := time.NewTimer(settle)
	quiet.Stop()
	defer quiet.Stop()
	var ask <-chan time.Time
	if l.shared != nil {
		tick := time.NewTicker(askStore)
		defer tick.Stop()
		ask = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.Events:
			if !ok {
				return
			}
			quiet.Reset(settle)
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			// Events may be lost, so look for oneself.
			l.log.Warn("watching agents", "error", err)
			quiet.Reset(settle)
		case <-quiet.C:
			l.refresh()
		case <-news:
			l.refresh()
		case <-ask:
			l.refresh()
		}
	}
}

func (l *Library) poll(ctx context.Context, news <-chan struct{}) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.refresh()
		case <-news:
			l.refresh()
		}
	}
}

func (l *Library) refresh() {
	if err := l.Reload(); err != nil {
		l.log.Warn("reading agents", "error", err)
	}
}
