package brain

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"
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
		name := strings.TrimSuffix(f.Name(), ".md")
		if _, err := l.Put(ctx, name, text); err != nil {
			return fmt.Errorf("writing the first agent %s: %w", name, err)
		}
	}
	return nil
}
