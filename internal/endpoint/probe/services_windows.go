package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Services asks the service control manager, with no more rights than needed.
func Services(ctx context.Context) ([]Service, error) {
	scm, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	if err != nil {
		return nil, fmt.Errorf("service control manager: %w", err)
	}
	defer func() { _ = windows.CloseServiceHandle(scm) }()
	list, err := enumServices(scm)
	if err != nil {
		return nil, fmt.Errorf("services: %w", err)
	}
	var out []Service
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := Service{Name: windows.UTF16PtrToString(e.ServiceName), Display: windows.UTF16PtrToString(e.DisplayName), Status: scmStatus(e.ServiceStatusProcess), Start: Manual}
		scmConfig(scm, e.ServiceName, &s)
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Service) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return out, nil
}

func enumServices(scm windows.Handle) ([]windows.ENUM_SERVICE_STATUS_PROCESS, error) {
	buf := make([]byte, 64<<10)
	for {
		var needed, count uint32
		err := windows.EnumServicesStatusEx(scm, windows.SC_ENUM_PROCESS_INFO, windows.SERVICE_WIN32, windows.SERVICE_STATE_ALL,
			&buf[0], uint32(len(buf)), &needed, &count, nil, nil)
		if err == nil {
			return unsafe.Slice((*windows.ENUM_SERVICE_STATUS_PROCESS)(unsafe.Pointer(&buf[0])), count), nil
		}
		if err != windows.ERROR_MORE_DATA { //nolint:errorlint // a bare system error number
			return nil, err
		}
		buf = make([]byte, len(buf)+int(needed))
	}
}

// neverStarted is the exit code of a service that has not run since boot.
const neverStarted = 1077

func scmStatus(p windows.SERVICE_STATUS_PROCESS) string {
	switch p.CurrentState {
	case windows.SERVICE_RUNNING:
		return Running
	case windows.SERVICE_START_PENDING, windows.SERVICE_CONTINUE_PENDING:
		return Starting
	case windows.SERVICE_STOP_PENDING:
		return Stopping
	case windows.SERVICE_PAUSED, windows.SERVICE_PAUSE_PENDING:
		return Paused
	}
	if p.Win32ExitCode != 0 && p.Win32ExitCode != neverStarted {
		return Failed
	}
	return Stopped
}

// scmConfig adds how a service starts, as far as we may know.
func scmConfig(scm windows.Handle, name *uint16, s *Service) {
	h, err := windows.OpenService(scm, name, windows.SERVICE_QUERY_CONFIG)
	if err != nil {
		return
	}
	defer func() { _ = windows.CloseServiceHandle(h) }()
	buf := make([]byte, 8<<10)
	var needed uint32
	config := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buf[0]))
	if windows.QueryServiceConfig(h, config, uint32(len(buf)), &needed) != nil {
		return
	}
	switch config.StartType {
	case windows.SERVICE_AUTO_START, windows.SERVICE_BOOT_START, windows.SERVICE_SYSTEM_START:
		s.Start = Auto
	case windows.SERVICE_DISABLED:
		s.Start = Disabled
	}
	s.Idle = flagged(h, windows.SERVICE_CONFIG_DELAYED_AUTO_START_INFO) || flagged(h, windows.SERVICE_CONFIG_TRIGGER_INFO)
}

// flagged reads the first number of an optional setting: whether the start is
// delayed, or how many triggers there are.
func flagged(h windows.Handle, level uint32) bool {
	buf := make([]byte, 8<<10)
	var needed uint32
	if windows.QueryServiceConfig2(h, level, &buf[0], uint32(len(buf)), &needed) != nil {
		return false
	}
	return *(*uint32)(unsafe.Pointer(&buf[0])) != 0
}
