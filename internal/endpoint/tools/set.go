package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/guard"
	"parley.internal/internal/endpoint/probe"
	"parley.internal/internal/endpoint/truepath"
	wire "parley.internal/protocol/kenny"
)

// Deps is what the handlers need from their surroundings.
type Deps struct {
	OS    wire.OS
	Guard *guard.Guard
	// Collect measures the machine: the named sections, or all.
	Collect func(ctx context.Context, sections []string) (any, error)
	// Update stages a new version; nil where that cannot be.
	Update func(ctx context.Context, version, url, sha256 string) error
	// Helper is the program and its first arguments that take a picture of
	// the screen in a process of their own.
	Helper []string
}

// Call is one checked request.
type Call struct {
	ID   string
	Tool wire.Tool
	Args wire.Args
}

// handler does one tool's work and gives a value that marshals to its result.
type handler func(ctx context.Context, c Call) (any, error)

// Set is the handlers of a machine.
type Set struct {
	deps     Deps
	handlers map[string]handler
}

// New makes the handlers.
func New(deps Deps) *Set {
	s := &Set{deps: deps}
	s.handlers = map[string]handler{
		"powershell_exec": s.powershell, "shell_exec": s.shell,
		"fs_list": s.list, "fs_search": s.search, "fs_read": s.read, "fs_disk_usage": s.diskUsage,
		"winget_list": s.wingetList, "winget_install": s.wingetInstall,
		"winget_uninstall": s.wingetUninstall, "winget_update": s.wingetUpdate,
		"diag_processes": s.processes, "diag_services": s.services,
		"diag_eventlog": s.eventlog, "diag_autostart": s.autostart,
		"net_config": s.netConfig, "net_dns_flush": s.dnsFlush, "net_adapter_reset": s.adapterReset,
		"screen_capture": s.screen, "remotehelp_status": s.helpStatus,
		"remotehelp_start": s.helpStart, "remotehelp_stop": s.helpStop,
		"telemetry_collect": s.collect, "agent_update": s.update,
	}
	return s
}

// Run does one call.
func (s *Set) Run(ctx context.Context, c Call) (any, error) {
	h, ok := s.handlers[c.Tool.Name]
	if !ok {
		return nil, unsupported("this endpoint does not know %q", c.Tool.Name)
	}
	if err := c.Tool.CheckOS(s.deps.OS); err != nil {
		return nil, err
	}
	result, err := h(ctx, c)
	if err != nil {
		return nil, translate(err)
	}
	return result, nil
}

// translate gives every failure its code.
func translate(err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err // the dispatcher knows how long it waited
	case errors.Is(err, probe.ErrUnsupported):
		return &wire.Error{Code: wire.CodeUnsupported, Message: err.Error()}
	case errors.Is(err, truepath.ErrRelative), errors.Is(err, truepath.ErrKind):
		return &wire.Error{Code: wire.CodeBadArgs, Message: err.Error()}
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, command.ErrNotStarted) && !errors.Is(err, exec.ErrNotFound):
		return &wire.Error{Code: wire.CodeNotFound, Message: "there is no such path on this machine"}
	case errors.Is(err, fs.ErrPermission):
		return &wire.Error{Code: wire.CodeExecFailed, Message: "the endpoint's account has no permission for this: " + err.Error()}
	}
	return &wire.Error{Code: wire.CodeExecFailed, Message: err.Error()}
}

func unsupported(format string, args ...any) error {
	return &wire.Error{Code: wire.CodeUnsupported, Message: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) error {
	return &wire.Error{Code: wire.CodeExecFailed, Message: fmt.Sprintf(format, args...)}
}

func badArgs(format string, args ...any) error {
	return &wire.Error{Code: wire.CodeBadArgs, Message: fmt.Sprintf(format, args...)}
}

// orEmpty makes sure that a list without entries is [] and never null.
func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
