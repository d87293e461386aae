package endpoint

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"parley.internal/internal/endpoint/update"
)

// onConnect notes that the hub accepted us: for people, for the telemetry
// loop, and for whoever just replaced this program and wonders.
func (e *Endpoint) onConnect() {
	e.note(update.Session{Connected: true, Version: e.opts.Version, PID: os.Getpid(), At: time.Now().UTC()})
	e.ring.Wake()
	e.connected.Ring()
}

func (e *Endpoint) onDisconnect(error) {
	e.sw.Withdraw()
	e.note(update.Session{Version: e.opts.Version, PID: os.Getpid(), At: time.Now().UTC()})
}

func (e *Endpoint) note(s update.Session) {
	data, err := json.Marshal(s)
	if err != nil {
		return
	}
	if err := replaceFile(filepath.Join(e.opts.State, update.SessionFile), append(data, '\n')); err != nil {
		e.log.Warn("session state not written", "error", err)
	}
}

// lastSession reads what onConnect and onDisconnect noted.
func lastSession(folder string) (update.Session, error) {
	s, err := update.ReadSession(folder)
	if errors.Is(err, os.ErrNotExist) {
		return update.Session{}, nil
	}
	return s, err
}
