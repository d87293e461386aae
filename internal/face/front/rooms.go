package front

import (
	"errors"
	"net/http"

	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
)

// roomStatuses are the HTTP answers to refusals; others are 400.
var roomStatuses = map[kibitz.Code]int{
	kibitz.RoomUnknown: http.StatusNotFound, kibitz.ToUnknown: http.StatusNotFound,
	kibitz.RoomExists: http.StatusConflict, kibitz.PolicyStale: http.StatusConflict,
	kibitz.HostDenied: http.StatusForbidden, kibitz.PerceiveDenied: http.StatusForbidden, kibitz.GrantDenied: http.StatusForbidden, kibitz.GrantSelf: http.StatusForbidden, kibitz.GrantHost: http.StatusConflict,
	kibitz.LimitSize: http.StatusRequestEntityTooLarge, kibitz.LimitRate: http.StatusTooManyRequests,
	kibitz.GateUnavailable: http.StatusServiceUnavailable,
}

// RoomProblem turns an error of rooms into what an HTTP client sees.
func RoomProblem(err error) error {
	if no, ok := errors.AsType[*kibitz.Refusal](err); ok {
		status, ok := roomStatuses[no.Code]
		if !ok {
			status = http.StatusBadRequest
		}
		return NewProblem(status, string(no.Code), no.Reason, nil)
	}
	switch {
	case errors.Is(err, room.ErrStale):
		return NewProblem(http.StatusPreconditionFailed, string(kibitz.PolicyStale), err.Error(), nil)
	case errors.Is(err, room.ErrUnavailable):
		return NewProblem(http.StatusServiceUnavailable, "unavailable", err.Error(), err)
	}
	return err
}
