package front

import (
	"errors"
	"log/slog"
	"net/http"

	"parley.internal/internal/limit"
	"parley.internal/internal/wsconn"
)

// Sockets is where a face's requests become WebSockets.
type Sockets struct {
	Group *wsconn.Group
	// Open counts those there are. TooMany answers whoever would be one too many.
	Open    *limit.Crowd
	TooMany func(http.ResponseWriter, *http.Request, *limit.Error)
	Log     *slog.Logger
}

// Upgrade makes a WebSocket of a request. The handler that opened makes stays when the
// request is over, so it is the one to say when the caller is known and when it is gone.
func (s *Sockets) Upgrade(w http.ResponseWriter, r *http.Request, opened func(*wsconn.Conn, *Caller) wsconn.Handler) {
	leave, err := s.Open.Enter(Address(r), false)
	if err != nil {
		why, _ := errors.AsType[*limit.Error](err)
		s.TooMany(w, r, why)
		return
	}
	caller := callerOf(w)
	caller.closed = leave
	if _, err := s.Group.Upgrade(w, r, func(ws *wsconn.Conn) wsconn.Handler { return opened(ws, caller) }); err != nil {
		caller.Gone()
		s.Log.Debug("no WebSocket", "address", Address(r), "error", err) // Upgrade has answered
	}
}
