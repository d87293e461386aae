package terminal

import "parley.internal/protocol/viber"

// sizes decides how large a terminal is: as large as fits the windows of all
// viewers who may write and have said theirs. Somebody without a view counts only
// while no viewer has said anything. With nobody left the size stays.
type sizes struct {
	current viber.Size
	// loose is what somebody without a view said.
	loose *viber.Size
}

// recompute works the size out anew and reports whether it changed.
func (s *sizes) recompute(windows []viber.Size) bool {
	before := s.current
	switch {
	case len(windows) > 0:
		s.loose = nil
		s.current = windows[0]
		for _, w := range windows[1:] {
			s.current.Rows, s.current.Cols = min(s.current.Rows, w.Rows), min(s.current.Cols, w.Cols)
		}
	case s.loose != nil:
		s.current = *s.loose
	}
	return s.current != before
}
