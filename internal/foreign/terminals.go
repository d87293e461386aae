package foreign

import (
	"context"

	"parley.internal/protocol/acp"
)

// maxWaits is how many ends of terminals an agent may wait for at once.
const maxWaits = 32

// serveTerminal does something to a terminal that was opened for the agent. That needs nobody's
// yes: opening it did.
func (s *session) serveTerminal(m acp.Message, id string) error {
	if s.waits.Add(1) > maxWaits {
		s.waits.Add(-1)
		return &acp.Error{Code: acp.CodeInvalidRequest, Message: "too many requests at once"}
	}
	run := s.run
	s.beside.Go(func() {
		defer s.waits.Add(-1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		defer context.AfterFunc(run.gone, cancel)()
		result, err := s.terminal(ctx, m.Method, id)
		_ = run.answer(m, result, err) // if it does not read any more, it has ended
	})
	return nil
}

func (s *session) terminal(ctx context.Context, method, id string) (any, error) {
	if method == acp.KillTerminal || method == acp.ReleaseTerminal {
		return struct{}{}, s.h.Terminal.Close(ctx, id)
	}
	printed, cut, exit, err := s.h.Terminal.Read(ctx, id, method == acp.WaitForExit)
	if err != nil {
		return nil, &acp.Error{Code: acp.CodeNotFound, Message: err.Error()}
	}
	var status *acp.ExitStatus
	if exit != nil {
		status = &acp.ExitStatus{Code: exit}
	}
	if method == acp.WaitForExit {
		return status, nil
	}
	s.heard.Store(true)
	return acp.OutputResponse{Output: printed, Truncated: cut, Exit: status}, nil
}
