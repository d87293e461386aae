package probe

import (
	"context"

	"parley.internal/internal/endpoint/command"
)

// Events reads the newest entries of the unified log. It looks back further
// and further until there are enough: the log is long and slow to read.
func Events(ctx context.Context, log string, count int) ([]Event, error) {
	var events []Event
	for _, back := range []string{"2m", "30m", "6h"} {
		args := []string{"show", "--style", "ndjson", "--last", back}
		if p := unifiedPredicate(log); p != "" {
			args = append(args, "--predicate", p)
		}
		res, err := command.Run(ctx, command.Spec{Path: "/usr/bin/log", Args: args, Cap: 32 << 20})
		if err != nil {
			return nil, err
		}
		if events = parseUnified(res.Stdout, count); len(events) == count {
			break
		}
	}
	return events, nil
}
