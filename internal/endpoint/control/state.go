package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley.internal/internal/durable"
	wire "parley.internal/protocol/kenny"
)

// Mode is where the switch stands.
type Mode = wire.Control

// The positions. Asking has the person decide about each change; Private is off
// for tools that only look, too, when they may show private things.
const (
	On      = wire.ControlOn
	Asking  = wire.ControlAsk
	Off     = wire.ControlOff
	Private = wire.ControlPrivate
)

// State is what the file holds.
type State struct {
	Mode Mode `json:"mode"`
	// By is the account that switched, in the system's own terms (a user id,
	// a SID); Name is for people.
	By   string    `json:"by,omitempty"`
	Name string    `json:"name,omitempty"`
	At   time.Time `json:"at,omitzero"`
	// Broken: the file is there but says nothing usable. It counts as off.
	Broken bool `json:"broken,omitempty"`
}

// FileName is the switch's file in the state folder.
const FileName = "switch.json"

// Switch reads and writes the state. It keeps no state in memory, so what the
// file says holds from the next call on; only the questions to the person are.
type Switch struct {
	folder string
	log    *slog.Logger
	now    func() time.Time
	// OnSet, where given, hears of every change after it is on disk.
	OnSet func(State)
	// OnAsk, where given, hears of every question once it waits.
	OnAsk func()

	mu    sync.Mutex
	asked []*open // oldest first
	last  int     // number of the newest question
}

// NewSwitch makes the switch of a state folder.
func NewSwitch(folder string, log *slog.Logger) *Switch {
	return &Switch{folder: folder, log: log, now: time.Now}
}

func (s *Switch) path() string { return filepath.Join(s.folder, FileName) }

// State reads where the switch stands.
func (s *Switch) State() State {
	data, err := os.ReadFile(s.path())
	if errors.Is(err, os.ErrNotExist) {
		return State{Mode: On}
	}
	if err != nil {
		return s.broken(err)
	}
	state, err := parse(data)
	if err != nil {
		return s.broken(err)
	}
	return state
}

func (s *Switch) broken(err error) State {
	s.log.Error("the switch cannot be read and counts as off", "file", s.path(), "error", err)
	return State{Mode: Off, Broken: true}
}

// parse accepts exactly what set writes; anything else is damage.
func parse(data []byte) (State, error) {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var state State
	if err := dec.Decode(&state); err != nil {
		return State{}, err
	}
	if dec.More() {
		return State{}, errors.New("more than one value")
	}
	if !state.Mode.Known() {
		return State{}, fmt.Errorf("mode %q is none of on, ask, off, private", state.Mode)
	}
	state.Broken = false
	return state, nil
}

// Allows reports whether a tool of a class may run; the error is what the hub
// hears.
func (s *Switch) Allows(class wire.Class) error {
	if class == wire.ReadOnly {
		return nil // looking goes on; no need to read the file
	}
	state := s.State()
	switch {
	case state.Mode == On, state.Mode == Asking:
		return nil
	case class == wire.Sensitive && state.Mode == Off:
		return nil
	case class == wire.Sensitive:
		return &wire.Error{Code: wire.CodeDisabled, Message: "the person at the machine has switched off everything that may show private things"}
	}
	return &wire.Error{Code: wire.CodeDisabled, Message: "remote control is switched off at the machine"}
}

// Caller is who asks, as the operating system knows it.
type Caller struct {
	ID, Name string
	// Admin: an administrator, or the account the endpoint itself runs as,
	// which owns the file anyway.
	Admin bool
	// Script: the asking process belongs to a call of this endpoint.
	Script bool
}

// Refusals of the switch.
var (
	// ErrScript: a call of the endpoint tried to move its switch.
	ErrScript = errors.New("the switch is for people at the machine, not for what the endpoint runs")
	// ErrNotYours: somebody else switched off.
	ErrNotYours = errors.New("only the one who switched remote control off, or an administrator, can loosen it")
)

// Set moves the switch for a caller, if it may.
func (s *Switch) Set(mode Mode, who Caller) (State, error) {
	current := s.State()
	if err := may(current, mode, who); err != nil {
		s.log.Warn("switch refused", "mode", mode, "user", who.Name, "error", err)
		return current, err
	}
	next := State{Mode: mode, By: who.ID, Name: who.Name, At: s.now().UTC().Truncate(time.Second)}
	if err := s.write(next); err != nil {
		return current, fmt.Errorf("switch: %w", err)
	}
	s.log.Info("remote control switched", wire.ControlKey, string(mode), "user", who.Name)
	if s.OnSet != nil {
		s.OnSet(next)
	}
	return next, nil
}

// may is the permission rule. Every loosening (private to off, off to ask) is a
// kind of on.
func may(current State, mode Mode, who Caller) error {
	loosens := mode.Tightness() < current.Mode.Tightness()
	switch {
	case who.Script:
		return ErrScript
	case !loosens, who.Admin:
		return nil
	case current.Broken || current.By == "" || current.By != who.ID:
		return ErrNotYours
	}
	return nil
}

// write replaces the file in one step, on disk before it counts.
func (s *Switch) write(state State) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return durable.Write(s.path(), append(data, '\n'), 0o600)
}
