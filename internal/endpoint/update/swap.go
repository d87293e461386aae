package update

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"parley.internal/internal/pause"
)

// Plan is a swap to be done.
type Plan struct {
	// Folder is the endpoint's state folder.
	Folder string `json:"folder"`
	// Program is replaced by New.
	Program string `json:"program"`
	New     string `json:"new"`
	// Version is the new one, Previous the one it replaces.
	Version  string `json:"version"`
	Previous string `json:"previous"`
}

// Manager starts and stops the endpoint's service.
type Manager interface {
	Stop(ctx context.Context) error
	Start(ctx context.Context) error
}

// Waits of a swap.
const (
	// answerWait lets the endpoint answer the call that ordered the swap.
	answerWait = 2 * time.Second
	// renameWait is how long a program may stay locked after it was stopped.
	renameWait = 20 * time.Second
	// connectWait is how long the new program has to complete a handshake.
	connectWait = 120 * time.Second
	lookEvery   = 250 * time.Millisecond
)

// Outcome is how a swap ended; it is read by the next endpoint that starts.
type Outcome struct {
	Version  string    `json:"version"`
	Previous string    `json:"previous"`
	State    string    `json:"state"` // connected, rolled_back, failed
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	Reported bool      `json:"reported,omitempty"`
}

// The ends of a swap.
const (
	Connected  = "connected"
	RolledBack = "rolled_back"
	Failed     = "failed"
)

const (
	outcomeFile = "update.json"
	// SessionFile is where an endpoint notes its last session.
	SessionFile = "session.json"
)

// Session is what an endpoint noted about its connection.
type Session struct {
	Connected bool      `json:"connected"`
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	At        time.Time `json:"at"`
}

// ReadSession reads an endpoint's note.
func ReadSession(folder string) (Session, error) {
	var s Session
	data, err := os.ReadFile(filepath.Join(folder, SessionFile))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// Swap replaces the program and waits for the new one to reach its hub, else
// puts the old one back. It runs in a process of its own.
func Swap(ctx context.Context, p Plan, m Manager, log *slog.Logger) Outcome {
	o := Outcome{Version: p.Version, Previous: p.Previous, State: Connected}
	if err := swap(ctx, p, m, log); err != nil {
		o.State, o.Reason = RolledBack, err.Error()
		log.Error("update did not work, going back", "version", p.Version, "error", err)
		if err := back(ctx, p, m); err != nil {
			o.State, o.Reason = Failed, o.Reason+"; going back failed too: "+err.Error()
		}
	}
	o.At = time.Now().UTC()
	if err := writeOutcome(p.Folder, o); err != nil {
		log.Error("the outcome of the update could not be written", "error", err)
	}
	return o
}

func previous(p Plan) string { return p.Program + ".previous" }

func swap(ctx context.Context, p Plan, m Manager, log *slog.Logger) error {
	_ = pause.For(ctx, answerWait) // the end comes sooner when the service is stopped
	if err := m.Stop(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if err := again(ctx, func() error { return keep(p.Program, previous(p)) }); err != nil {
		return fmt.Errorf("keep the previous program: %w", err)
	}
	if err := again(ctx, func() error { return move(p.New, p.Program) }); err != nil {
		return fmt.Errorf("put the new program in place: %w", err)
	}
	since := time.Now()
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	log.Info("new program started", "version", p.Version)
	return awaitHandshake(ctx, p, since)
}

// awaitHandshake looks for the new program's note.
func awaitHandshake(ctx context.Context, p Plan, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	for {
		s, err := ReadSession(p.Folder)
		if err == nil && s.Connected && s.Version == p.Version && s.At.After(since.Add(-time.Second)) {
			return nil
		}
		if pause.For(ctx, lookEvery) != nil {
			return fmt.Errorf("no completed handshake within %s", connectWait)
		}
	}
}

// back restores the previous program, if it was moved away already.
func back(ctx context.Context, p Plan, m Manager) error {
	if _, err := os.Stat(previous(p)); err == nil {
		_ = m.Stop(ctx) // it may not run at all; renaming tells
		if err := again(ctx, func() error { return move(previous(p), p.Program) }); err != nil {
			return err
		}
	}
	_ = os.Remove(p.New)
	return m.Start(ctx)
}

// keep moves the old program away; a running one can be renamed on every
// system.
func keep(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

// again tries for a while: a program that was just stopped may still be held
// by the system or a virus scanner.
func again(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, renameWait)
	defer cancel()
	for {
		err := do()
		if err == nil {
			return nil
		}
		if pause.For(ctx, lookEvery) != nil {
			return err
		}
	}
}

func writeOutcome(folder string, o Outcome) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, outcomeFile), append(data, '\n'), 0o600)
}

// Report logs the end of the last swap, once, so that the hub hears of it.
func Report(folder string, log *slog.Logger) {
	data, err := os.ReadFile(filepath.Join(folder, outcomeFile))
	if err != nil {
		return
	}
	var o Outcome
	if json.Unmarshal(data, &o) != nil || o.Reported {
		return
	}
	if o.State == Connected {
		log.Info("updated", "version", o.Version, "previous", o.Previous)
	} else {
		log.Error("update was rolled back", "version", o.Version, "previous", o.Previous, "state", o.State, "reason", o.Reason)
	}
	o.Reported = true
	_ = writeOutcome(folder, o) // it would only be told twice
}
