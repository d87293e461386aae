package tools

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/probe"
	"parley.internal/internal/endpoint/session"
)

const (
	helpProcess = "quickassist.exe"
	// helpHost is the relay Quick Assist needs.
	helpHost = "remoteassistance.support.services.microsoft.com:443"
	// helpApp is the store application's own name.
	helpApp = `shell:AppsFolder\MicrosoftCorporationII.QuickAssist_8wekyb3d8bbwe!App`
)

const helpScript = `$p=Get-AppxPackage -AllUsers -Name MicrosoftCorporationII.QuickAssist -ErrorAction SilentlyContinue | Select-Object -First 1; if ($p) { [string]$p.Version }`

// classic is the program older versions of Windows come with.
func classic() string { return filepath.Join(os.Getenv("SystemRoot"), "System32", "quickassist.exe") }

func helpStatus(ctx context.Context) (helpState, error) {
	var st helpState
	if out, err := probe.PowerShell(ctx, helpScript); err == nil {
		st.Version = strings.TrimSpace(command.Text(out))
	}
	_, err := os.Stat(classic())
	st.Installed = st.Version != "" || err == nil
	st.InternetOK = reachable(ctx)
	st.Interactive = session.Present()
	return st, nil
}

func reachable(ctx context.Context) bool {
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", helpHost)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// helpStart opens Quick Assist for the user at the console. The list of what
// may be started is fixed: the program of Windows, or the store's.
func helpStart(ctx context.Context) (int, error) {
	program := []string{filepath.Join(os.Getenv("SystemRoot"), "explorer.exe"), helpApp}
	if _, err := os.Stat(classic()); err == nil {
		program = []string{classic()}
	}
	if err := session.Start(program); err != nil {
		if errors.Is(err, session.ErrNobody) {
			return 0, failed("nobody is logged in at this machine")
		}
		return 0, err
	}
	for {
		if pids := helpers(ctx); len(pids) > 0 {
			return int(pids[0].Pid), nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return 0, failed("Quick Assist did not start")
		}
	}
}

func helpers(ctx context.Context) []*process.Process {
	all, err := process.ProcessesWithContext(ctx)
	if err != nil {
		return nil
	}
	var out []*process.Process
	for _, p := range all {
		if name, err := p.NameWithContext(ctx); err == nil && strings.EqualFold(name, helpProcess) {
			out = append(out, p)
		}
	}
	return out
}

func helpStop(ctx context.Context) (bool, error) {
	stopped := false
	for _, p := range helpers(ctx) {
		if err := p.KillWithContext(ctx); err != nil {
			return stopped, failed("Quick Assist could not be ended: %v", err)
		}
		stopped = true
	}
	return stopped, nil
}
