package talk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"parley.internal/internal/brain"
	"parley.internal/internal/brain/mcpclient"
	"parley.internal/internal/brain/model"
	"parley.internal/internal/brain/resource"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/limit"
	"parley.internal/internal/talk"
	wire "parley.internal/protocol/agentfirst"
)

// What clients are told about the connection itself.
var (
	errNoLogin   = errors.New("not authenticated: send hello with a token first")
	errNoScope   = errors.New("this needs the scope talk")
	errNoManager = errors.New("this needs the scope agents:manage")
	errPlain     = errors.New("this request is an addition to the protocol: send hello first")
	errGone      = errors.New("the configuration is no longer part of the protocol; the hub's settings are in parley.yaml")
	errStopping  = errors.New("the hub is stopping; try again")
	errHandle    = errors.New("no such conversation: file_path is a handle from a listing")
	errTooLarge  = errors.New("too large")
	errBad       = errors.New("bad request")
	errNoService = errors.New("no such service: this hub has no separate services")
	errManyOpen  = errors.New("too many of these on one connection")
)

// codes maps what can go wrong to the protocol's codes; the first match counts.
var codes = []struct {
	is   error
	code wire.Code
}{
	{errNoLogin, wire.CodeUnauthenticated},
	{identity.ErrRefused, wire.CodeUnauthenticated},
	{limit.ErrTooMany, wire.CodeTooMany},
	{errNoScope, wire.CodeForbidden},
	{errNoManager, wire.CodeForbidden},
	{talk.ErrForbidden, wire.CodeForbidden},
	{identity.ErrForbidden, wire.CodeForbidden},
	{errBad, wire.CodeBadRequest},
	{errPlain, wire.CodeBadRequest},
	{talk.ErrBadRequest, wire.CodeBadRequest},
	{files.ErrTooMany, wire.CodeBadRequest},
	{wire.ErrBadName, wire.CodeBadRequest},
	{wire.ErrEmptyFile, wire.CodeBadRequest},
	{wire.ErrBadMeta, wire.CodeBadRequest},
	{brain.ErrAgentName, wire.CodeBadRequest},
	{brain.ErrAgentConfig, wire.CodeBadRequest},
	{brain.ErrBadProvider, wire.CodeBadRequest},
	{mcpclient.ErrServers, wire.CodeBadRequest},
	{resource.ErrConfigured, wire.CodeBadRequest},
	{errHandle, wire.CodeNotFound},
	{files.ErrNotFound, wire.CodeNotFound},
	{errNoService, wire.CodeNotFound},
	{talk.ErrNoAgent, wire.CodeNotFound},
	{brain.ErrNoAgent, wire.CodeNotFound},
	{brain.ErrBrokenAgent, wire.CodeNotFound},
	{talk.ErrNotFound, wire.CodeNotFound},
	{talk.ErrNoArchive, wire.CodeNotFound},
	{talk.ErrNotActive, wire.CodeNotFound},
	{talk.ErrNoQuestion, wire.CodeNotFound},
	{talk.ErrNoSchedule, wire.CodeNotFound},
	{brain.ErrNoProvider, wire.CodeNotFound},
	{resource.ErrNoMCP, wire.CodeNotFound},
	{resource.ErrNoSkill, wire.CodeNotFound},
	{talk.ErrNothing, wire.CodeConflict},
	{talk.ErrExists, wire.CodeConflict},
	{talk.ErrBusy, wire.CodeConflict},
	{brain.ErrAgentExists, wire.CodeConflict},
	{brain.ErrProviderKept, wire.CodeConflict},
	{brain.ErrProviderOff, wire.CodeConflict},
	{brain.ErrNoPrice, wire.CodeConflict},
	{errGone, wire.CodeGone},
	{errTooLarge, wire.CodeTooLarge},
	{talk.ErrTooLarge, wire.CodeTooLarge},
	{wire.ErrFrameTooLarge, wire.CodeTooLarge},
	{talk.ErrQueueFull, wire.CodeTooMany},
	{talk.ErrBudget, wire.CodeTooMany},
	{brain.ErrBudget, wire.CodeTooMany},
	{errManyOpen, wire.CodeTooMany},
	{errStopping, wire.CodeUnavailable},
	{talk.ErrUnavailable, wire.CodeUnavailable},
	{mcpclient.ErrClosed, wire.CodeUnavailable},
}

// codeOf finds the code of an error; 500 for what nobody foresaw.
func codeOf(err error) wire.Code {
	for _, c := range codes {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	failed, ok := errors.AsType[*model.Error](err)
	switch {
	case ok && failed.Cause == model.CauseTimeout:
		return wire.CodeProviderTimeout
	case ok, errors.Is(err, talk.ErrSummary):
		return wire.CodeProviderFailed
	}
	return wire.CodeInternal
}

// errorMessage is the answer to a request that failed. The cause of what is our
// own fault is for the log.
func (f *Face) errorMessage(err error) *wire.ServerMessage {
	code := codeOf(err)
	// What concerns the whole hub (a full disk, a database that is away) is in the
	// table all faces share.
	if code == wire.CodeInternal && f.d.Front.Problem(err).Status == http.StatusServiceUnavailable {
		code = wire.CodeUnavailable
	}
	if code != wire.CodeInternal {
		return wire.NewError(code, err.Error())
	}
	id := rand.Text()[:12]
	f.log.Error("a request failed", "log_id", id, "error", err)
	return wire.NewError(code, "something went wrong in the hub; its log has the cause under "+id)
}

// endError is how send reports a run that did not end well.
func endError(ev talk.Event) *wire.ServerMessage {
	return wire.NewError(endCode(ev), ev.Error)
}

func endCode(ev talk.Event) wire.Code {
	if ev.Code == talk.CodeNoAgent {
		return wire.CodeNotFound
	}
	if ev.Code == talk.CodeNotRepeated {
		return wire.CodeConflict
	}
	switch ev.Stop {
	case brain.StopTimeout:
		return wire.CodeProviderTimeout
	case brain.StopRounds, brain.StopBudget:
		return wire.CodeTooMany
	case brain.StopCancelled, brain.StopKilled:
		return wire.CodeConflict
	case brain.StopInterrupted:
		return wire.CodeUnavailable
	case brain.StopModelError:
		if ev.Code == talk.CodeTimeout {
			return wire.CodeProviderTimeout
		}
		return wire.CodeProviderFailed
	}
	return wire.CodeInternal
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBad, fmt.Sprintf(format, args...))
}
