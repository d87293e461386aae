package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"parley.internal/internal/endpoint/command"
)

// feed is one PowerShell process that answers for many sections, a line each,
// as soon as it knows.
type feed struct {
	mu      sync.Mutex
	answers map[string]chan feedLine
	partial []byte
	done    chan struct{}
	err     error // why the process ended; for after done
}

// startFeed starts the process if a section needs it.
func startFeed(ctx context.Context, sources []source) *feed {
	f := &feed{answers: map[string]chan feedLine{}, done: make(chan struct{})}
	var names []string
	for _, s := range sources {
		if _, ok := winSnippets[s.name]; ok {
			names = append(names, s.name)
			f.answers[s.name] = make(chan feedLine, 1)
		}
	}
	if len(names) == 0 {
		close(f.done)
		return f
	}
	go func() {
		defer close(f.done)
		args := []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", winScript(names)}
		_, f.err = command.Run(ctx, command.Spec{Path: "powershell.exe", Args: args, Output: f})
	}()
	return f
}

// wait is for the end of the process; its context has ended by then.
func (f *feed) wait() { <-f.done }

// Write implements io.Writer: it takes the process's lines.
func (f *feed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.partial = append(f.partial, p...)
	for {
		line, rest, found := bytes.Cut(f.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		f.partial = append([]byte(nil), rest...)
		if l, err := parseFeedLine(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\ufeff"))); err == nil {
			if ch, ok := f.answers[l.Section]; ok {
				select {
				case ch <- l:
				default: // said twice
				}
			}
		}
	}
}

// get waits for a section's answer.
func (f *feed) get(ctx context.Context, name string) (json.RawMessage, error) {
	var l feedLine
	select {
	case l = <-f.answers[name]:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.done:
		select {
		case l = <-f.answers[name]:
		default:
			return nil, errors.Join(errors.New("PowerShell gave no answer"), f.err)
		}
	}
	switch {
	case l.Denied:
		return nil, fmt.Errorf("%w: %s", fs.ErrPermission, l.Error)
	case l.Error != "":
		return nil, errors.New(l.Error)
	}
	return l.Data, nil
}
