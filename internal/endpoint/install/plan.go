package install

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/kardianos/service"
)

// booted is there while systemd runs the machine; see sd_booted(3).
const booted = "/run/systemd/system"

// Ready says what keeps the endpoint from being installed here. It is asked before
// anything is changed and before a token is used up.
func Ready() error { return ready(runtime.GOOS, os.Geteuid(), booted) }

func ready(system string, user int, booted string) error {
	if system != "windows" && user != 0 {
		return errors.New("installing the endpoint needs an administrator: run it with sudo; nothing was changed")
	}
	if _, err := os.Stat(booted); system == "linux" && err != nil {
		return errors.New("this machine is not run by systemd, so the endpoint cannot be a service here; nothing was changed. " +
			"Run it yourself: parley-endpoint run, with the same flags")
	}
	return nil
}

// Plan is an installation.
type Plan struct {
	Service       service.Service
	From, Program string
	// Enrol makes the machine known to the hub. What it wrote stays when a later
	// step fails: the token is used up, and installing again goes on from there.
	Enrol func() error
}

// Run installs, or leaves everything but the enrolment as it was.
func (p Plan) Run() error {
	again := Installed(p.Service)
	if again {
		_ = p.Service.Stop() // it may not run; the folder's lock tells
	}
	if err := p.Enrol(); err != nil {
		p.restart(again)
		return err
	}
	undo, err := putProgram(p.From, p.Program)
	if err != nil {
		p.restart(again)
		return err
	}
	if err := p.replace(again); err != nil {
		_ = p.Service.Stop()      // it may have started
		_ = p.Service.Uninstall() // it may not be there
		undo()
		if again {
			_ = p.Service.Install()
		}
		p.restart(again)
		return fmt.Errorf("%w; program and service are as they were, and the machine is enrolled: mend that and install again, without a token", err)
	}
	_ = os.Remove(p.Program + ".before")
	return nil
}

// restart starts a service that was there before.
func (p Plan) restart(again bool) {
	if again {
		_ = p.Service.Start() // as it was
	}
}

// replace puts the service in the place of an earlier one and starts it.
func (p Plan) replace(again bool) error {
	if again {
		if err := p.Service.Uninstall(); err != nil {
			return fmt.Errorf("replacing the service: %w", err)
		}
	}
	if err := p.Service.Install(); err != nil {
		return fmt.Errorf("installing the service: %w", err)
	}
	if err := p.Service.Start(); err != nil {
		return fmt.Errorf("starting the service: %w", err)
	}
	return nil
}
