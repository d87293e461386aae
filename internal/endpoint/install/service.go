package install

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/kardianos/service"
)

// Name is what the service is called on this system.
func Name() string {
	switch runtime.GOOS {
	case "windows":
		return "ParleyEndpoint"
	case "darwin":
		return "dev.parley.endpoint"
	}
	return "parley-endpoint"
}

// unit is the systemd unit: started when the network is there, restarted soon
// when it fails. Stopping it leaves what it started no time to linger.
const unit = `[Unit]
Description={{Description}}
ConditionFileIsExecutable={{Path | cmdEscape}}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={{Path | cmdEscape}}{{range Arguments}} {{. | cmd}}{{end}}
Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=15

[Install]
WantedBy=multi-user.target
`

// nothing is the service's body where we only manage it.
type nothing struct{}

// Start implements service.Interface.
func (nothing) Start(service.Service) error { return nil }

// Stop implements service.Interface.
func (nothing) Stop(service.Service) error { return nil }

func config(program, state string) *service.Config {
	return &service.Config{
		Name: Name(), DisplayName: "Parley endpoint", Executable: program,
		Description: "Parley endpoint: lets your hub look after this machine",
		Arguments:   []string{"endpoint", "run", "--service", "--state", state},
		Option: service.KeyValue{
			"SystemdScript": unit,
			"KeepAlive":     true, "RunAtLoad": true,
			"OnFailure": "restart", "OnFailureDelayDuration": "5s", "OnFailureResetPeriod": 3600,
		},
	}
}

// Service manages the endpoint's service.
func Service(program, state string) (service.Service, error) {
	s, err := service.New(nothing{}, config(program, state))
	if err != nil {
		return nil, fmt.Errorf("this system's service manager: %w", err)
	}
	return s, nil
}

// Installed reports whether the service exists.
func Installed(s service.Service) bool {
	_, err := s.Status()
	return !errors.Is(err, service.ErrNotInstalled)
}

// Manager starts and stops the service for the updater.
type Manager struct{ Service service.Service }

// Stop ends the service; one that does not run is no error.
func (m Manager) Stop(context.Context) error {
	if status, err := m.Service.Status(); err == nil && status == service.StatusStopped {
		return nil
	}
	return m.Service.Stop()
}

// Start starts the service.
func (m Manager) Start(context.Context) error { return m.Service.Start() }

// Body runs the endpoint as this system expects of a service: Windows talks to
// a service in its own way, elsewhere signals do.
func Body(ctx context.Context, run func(context.Context) error) error {
	if runtime.GOOS != "windows" || service.Interactive() {
		return run(ctx)
	}
	b := &body{run: run}
	s, err := service.New(b, config("", ""))
	if err != nil {
		return err
	}
	if err := s.Run(); err != nil {
		return err
	}
	return b.err
}

// body is an endpoint as a Windows service.
type body struct {
	run  func(context.Context) error
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// Start implements service.Interface; it must not block.
func (b *body) Start(s service.Service) error {
	ctx, cancel := context.WithCancel(context.Background())
	b.stop, b.done = cancel, make(chan struct{})
	go func() {
		defer close(b.done)
		if b.err = b.run(ctx); b.err != nil {
			_ = s.Stop() // it ended by itself: the manager must hear of it
		}
	}()
	return nil
}

// Stop implements service.Interface.
func (b *body) Stop(service.Service) error {
	b.stop()
	<-b.done
	return nil
}
