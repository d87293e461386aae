package brain

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"

	"parley.internal/internal/identity"
)

//go:embed firstagents/*.md
var firstAgents embed.FS

// EnsureDefaults writes the first agents, parley and kibitzer, into a library that
// has no agent at all. One that was deleted later stays deleted.
func (l *Library) EnsureDefaults(ctx context.Context) error {
	if len(l.List()) > 0 {
		return nil
	}
	files, err := firstAgents.ReadDir("firstagents")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := firstAgents.ReadFile(path.Join("firstagents", f.Name()))
		if err != nil {
			return err
		}
		if err := l.putFirst(ctx, strings.TrimSuffix(f.Name(), ".md"), text); err != nil {
			return fmt.Errorf("writing the first agent: %w", err)
		}
	}
	return nil
}

// putFirst writes an agent; in a shared library only if no hub ever did.
func (l *Library) putFirst(ctx context.Context, name string, text []byte) error {
	if l.shared == nil {
		_, err := l.Put(ctx, identity.Hub(), name, text)
		return err
	}
	l.write.Lock()
	defer l.write.Unlock()
	if _, err := l.shared.table.importFile(ctx, name, text, true); err != nil {
		return err
	}
	return l.changed(ctx)
}
