package tools

import "context"

// helpState is whether a help session could start.
type helpState struct {
	Installed   bool   `json:"installed"`
	Version     string `json:"version"`
	InternetOK  bool   `json:"internet_ok"`
	Interactive bool   `json:"interactive_session"`
}

// helpNote reminds the helper of what only people can do.
const helpNote = "Quick Assist is open on the machine. A human helper must give the person there a code, and the person must accept."

func (s *Set) helpStatus(ctx context.Context, _ Call) (any, error) { return helpStatus(ctx) }

func (s *Set) helpStart(ctx context.Context, _ Call) (any, error) {
	pid, err := helpStart(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"launched": true, "pid": pid, "note": helpNote}, nil
}

func (s *Set) helpStop(ctx context.Context, _ Call) (any, error) {
	stopped, err := helpStop(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"stopped": stopped}, nil
}
