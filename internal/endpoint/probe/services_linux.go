package probe

import (
	"context"
	"os"

	"parley.internal/internal/endpoint/command"
)

// systemdRuns reports whether systemd is in charge here.
func systemdRuns() bool {
	info, err := os.Stat("/run/systemd/system")
	return err == nil && info.IsDir() && command.Have("systemctl")
}

// Services lists systemd's services.
func Services(ctx context.Context) ([]Service, error) {
	if !systemdRuns() {
		return nil, unsupported("systemd does not manage this Linux")
	}
	shown, err := command.Output(ctx, "systemctl", "show", "--no-pager", "--property=Id,Description,LoadState,ActiveState,UnitFileState", "*.service")
	if err != nil {
		return nil, err
	}
	files, err := command.Output(ctx, "systemctl", "list-unit-files", "--type=service", "--plain", "--no-legend", "--no-pager")
	if err != nil {
		return nil, err
	}
	return systemdServices(parseSystemctlShow(string(shown)), parseUnitFiles(string(files))), nil
}
