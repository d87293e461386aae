package tools

import (
	"context"
	"strings"

	"parley.internal/internal/endpoint/probe"
)

// Bounds of lists a hostile or odd machine could make very long.
const (
	maxProcesses = 5000
	maxServices  = 5000
)

func (s *Set) diskUsage(ctx context.Context, _ Call) (any, error) {
	volumes, err := probe.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"volumes": orEmpty(volumes)}, nil
}

func (s *Set) processes(ctx context.Context, _ Call) (any, error) {
	all, err := probe.Processes(ctx)
	if err != nil {
		return nil, err
	}
	return cut("processes", all, maxProcesses), nil
}

func (s *Set) services(ctx context.Context, c Call) (any, error) {
	all, err := probe.Services(ctx)
	if err != nil {
		return nil, err
	}
	return cut("services", matching(all, c.Args.Text("filter")), maxServices), nil
}

// matching keeps services whose name, short or long, contains a text.
func matching(all []probe.Service, filter string) []probe.Service {
	if filter == "" {
		return all
	}
	filter = strings.ToLower(filter)
	var out []probe.Service
	for _, one := range all {
		if strings.Contains(strings.ToLower(one.Name), filter) || strings.Contains(strings.ToLower(one.Display), filter) {
			out = append(out, one)
		}
	}
	return out
}

func (s *Set) eventlog(ctx context.Context, c Call) (any, error) {
	count := c.Args.Int("count")
	events, err := probe.Events(ctx, c.Args.Text("log"), count)
	if err != nil {
		return nil, err
	}
	return map[string]any{"events": orEmpty(events[:min(len(events), count)])}, nil
}

func (s *Set) autostart(ctx context.Context, _ Call) (any, error) {
	entries, err := probe.Autostart(ctx)
	if err != nil {
		return nil, err
	}
	return cut("entries", entries, maxEntries), nil
}

// cut wraps a list under its key and says when something was left out.
func cut[T any](key string, list []T, most int) map[string]any {
	out := map[string]any{key: orEmpty(list[:min(len(list), most)])}
	if len(list) > most {
		out["truncated"] = true
	}
	return out
}

func (s *Set) collect(ctx context.Context, c Call) (any, error) {
	return s.deps.Collect(ctx, c.Args.Texts("sections"))
}

func (s *Set) update(ctx context.Context, c Call) (any, error) {
	if s.deps.Update == nil {
		return nil, unsupported("this endpoint was not installed as a service, so it cannot replace itself")
	}
	version := c.Args.Text("version")
	if err := s.deps.Update(ctx, version, c.Args.Text("url"), strings.ToLower(c.Args.Text("sha256"))); err != nil {
		return nil, err
	}
	return map[string]any{"ok": true, "staged_version": version}, nil
}
