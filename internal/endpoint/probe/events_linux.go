package probe

import (
	"context"
	"strconv"

	"parley.internal/internal/endpoint/command"
)

// Events reads the newest entries of the journal. System is everything,
// Application everything but the kernel, kernel that alone; any other name is
// a unit's.
func Events(ctx context.Context, log string, count int) ([]Event, error) {
	if !command.Have("journalctl") {
		return nil, unsupported("there is no systemd journal")
	}
	args := append([]string{"--output=json", "--no-pager", "--reverse", "--quiet", "--lines=" + strconv.Itoa(count)}, journalFilter(log)...)
	out, err := command.Output(ctx, "journalctl", args...)
	if err != nil {
		return nil, err
	}
	return parseJournal(out), nil
}
