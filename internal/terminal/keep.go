package terminal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/durable"
	"parley.internal/internal/identity"
	"parley.internal/internal/mask"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/terminal/keeper"
	"parley.internal/protocol/viber"
)

// Keep is how terminals outlive this hub: each has a keeper, a process of its own.
type Keep struct {
	// Program is how our own program is told to be a keeper.
	Program []string
	// Dir has a folder for each.
	Dir string
	// Alone is how long a keeper waits for a hub (24 h).
	Alone time.Duration
	// Lasting is who somebody is after the hub was started anew, and Ended tells then that
	// they may not any more.
	Lasting func(context.Context, identity.Actor) (identity.Actor, error)
	Ended   func(identity.Actor) bool
	// Exit makes the way out of a box anew.
	Exit func() sandbox.Exit
}

// card is what a hub writes down of a terminal for the hub after it. It lies beside the
// keeper's socket.
type card struct {
	Secret  string         `json:"secret"`
	Info    viber.Terminal `json:"info"`
	Creator identity.Actor `json:"creator"`
	Boxed   bool           `json:"boxed"`
	Leaves  bool           `json:"leaves"`
	Began   time.Time      `json:"began"`
}

// cardName is the file.
const cardName = "terminal.json"

// jotting is what goes with every acknowledgement.
type jotting struct {
	Mask   mask.Mark `json:"mask"`
	Record *recorded `json:"record,omitzero"`
}

// keep starts a terminal with a keeper.
func (ts *Terminals) keep(ctx context.Context, t *terminal, spec Spec) error {
	lasting, err := ts.d.Keep.Lasting(ctx, t.creator)
	if err != nil {
		return err
	}
	c := card{Secret: rand.Text(), Info: t.info, Creator: lasting, Boxed: t.boxed, Leaves: spec.Exit != nil, Began: t.began}
	folder := filepath.Join(ts.d.Keep.Dir, t.info.ID)
	if err := c.write(folder); err != nil {
		return err
	}
	box := ts.d.Sandbox.Options()
	box.Temp = folder // the hub empties its own when it starts
	t.kept, err = keeper.Start(ts.d.Keep.Program, folder, keeper.Orders{
		Secret: c.Secret, Command: spec.Command, Dir: t.info.CWD, Size: spec.Size, Box: box, Folders: spec.Box, Leaves: c.Leaves, Alone: ts.d.Keep.Alone,
	})
	if err == nil && c.Leaves {
		err = t.kept.Serve(spec.Exit)
	}
	if err != nil {
		if t.kept != nil {
			t.kept.Close()
		}
		return errors.Join(err, os.RemoveAll(folder))
	}
	t.process = t.kept
	return nil
}

func (c card) write(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return durable.Write(filepath.Join(folder, cardName), text, 0o600)
}

// acknowledge tells the keeper what is safe: shown to the scrollback, and in the
// recording. The hub that comes next begins there.
func (t *terminal) acknowledge() {
	t.unsaid = false
	if t.kept == nil {
		return
	}
	note := jotting{Mask: t.mask.Mark()}
	if at, ok := t.record.flush(); ok {
		note.Record = &at
	}
	text, err := json.Marshal(note)
	if err != nil {
		t.log.Error("a terminal cannot be handed on", "terminal", t.info.ID, "error", err)
		return
	}
	t.kept.Acknowledge(keeper.Ack{At: t.read - int64(note.Mask.Held), Shown: t.news, Notes: text})
	t.news = nil
}

// detach leaves the process to its keeper.
func (t *terminal) detach() {
	t.record.leave()
	t.kept.Leave()
}

// resume takes up the terminals that an earlier hub on this data folder left.
func (ts *Terminals) resume() {
	if ts.d.Keep == nil {
		return
	}
	folders, _ := filepath.Glob(filepath.Join(ts.d.Keep.Dir, "*", cardName))
	for _, file := range folders {
		folder := filepath.Dir(file)
		t, err := ts.takeUp(folder)
		switch {
		case errors.Is(err, keeper.ErrGone):
			ts.d.Log.Info("a terminal ended while the hub was away", "terminal", filepath.Base(folder))
			_ = os.RemoveAll(folder) // the next start tries again
		case err != nil:
			ts.d.Log.Warn("a terminal goes on without this hub; 'parley doctor --end-terminals' ends it", "terminal", filepath.Base(folder), "error", err)
		default:
			ts.goOn(t)
		}
	}
}

// takeUp connects to one, and goes on where the earlier hub stood.
func (ts *Terminals) takeUp(folder string) (*terminal, error) {
	text, err := os.ReadFile(filepath.Join(folder, cardName))
	if err != nil {
		return nil, err
	}
	var c card
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	kept, err := keeper.Attach(folder, c.Secret)
	if err != nil {
		return nil, err
	}
	t := ts.newTerminal(c.Creator, c.Info, c.Began)
	t.boxed, t.process, t.kept, t.read = c.Boxed, kept, kept, kept.Found.At
	t.screen, t.sizes.current = kept.Found.Screen, kept.Found.Size
	var note jotting
	if err := json.Unmarshal(kept.Found.Notes, &note); err != nil && len(kept.Found.Notes) > 0 {
		ts.d.Log.Warn("a terminal goes on without its recording", "terminal", c.Info.ID, "error", err)
	}
	t.mask = ts.d.Mask.StreamAt(note.Mask)
	switch {
	case len(kept.Found.Notes) == 0: // the earlier hub came to nothing
		t.record = ts.d.Recordings.begin(t.info, t.owner, kept.Found.Size, c.Began)
	case note.Record != nil:
		held, _ := t.screen.Since(note.Record.Text)
		t.record = ts.d.Recordings.resume(c.Info.ID, c.Began, *note.Record, held)
	}
	if c.Leaves {
		if err := kept.Serve(ts.d.Keep.Exit()); err != nil {
			ts.d.Log.Warn("a terminal goes on without a network", "terminal", c.Info.ID, "error", err)
		}
	}
	return t, nil
}

// goOn runs a terminal that was taken up, unless whoever opened it may not any more.
func (ts *Terminals) goOn(t *terminal) {
	ts.mu.Lock()
	ts.all[t.info.ID] = t
	ts.mu.Unlock()
	if ts.things != nil {
		ts.things.Put(t.info.ID, t)
	}
	if ts.d.Keep.Ended(t.creator) {
		ts.note(identity.Hub(), audit.TerminalClosed, t, "refused", time.Since(t.began), nil)
		t.hangUp()
	}
	ts.running.Add(1)
	go ts.runs(t)
}
