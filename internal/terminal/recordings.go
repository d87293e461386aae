package terminal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley.internal/internal/identity"
	"parley.internal/protocol/viber"
)

// Which terminals are recorded.
const (
	RecordNone   = "none"
	RecordAgents = "agents"
	RecordAll    = "all"
)

// RecordingOptions say what is kept and for how long.
type RecordingOptions struct {
	// Dir is where the files are.
	Dir string
	// Which is one of the Record constants; empty is RecordAgents: people can see
	// afterwards what an agent did in a terminal.
	Which string
	// Age and Bytes bound what is kept (7 days, 512 MiB); the oldest go first.
	Age   time.Duration
	Bytes int64
	Log   *slog.Logger
}

// Recordings are the asciicast files of terminals of this hub; Terminals.Recordings
// finds those of other hubs too. A nil one keeps nothing.
type Recordings struct{ o RecordingOptions }

// Recording is one file.
type Recording struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Command string    `json:"command,omitempty"`
	Task    string    `json:"task_id,omitempty"`
	Began   time.Time `json:"began_at"`
	Bytes   int64     `json:"bytes"`
	owner   string
}

const castSuffix = ".cast"

// OpenRecordings prepares the folder and removes what is too old.
func OpenRecordings(o RecordingOptions) (*Recordings, error) {
	if o.Which == "" {
		o.Which = RecordAgents
	}
	if o.Age <= 0 {
		o.Age = 7 * 24 * time.Hour
	}
	if o.Bytes <= 0 {
		o.Bytes = 512 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("terminal recordings: %w", err)
	}
	r := &Recordings{o}
	r.prune()
	return r, nil
}

// begin starts to record a terminal, or returns nil. A terminal that cannot be
// recorded runs all the same; the log says so.
func (r *Recordings) begin(info viber.Terminal, owner string, size viber.Size, now time.Time) *recording {
	if r == nil || r.o.Which == RecordNone || r.o.Which == RecordAgents && info.TaskID == "" {
		return nil
	}
	r.prune()
	file, err := os.OpenFile(r.path(info.ID), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		r.o.Log.Warn("a terminal cannot be recorded", "terminal", info.ID, "error", err)
		return nil
	}
	return newRecording(file, castHeader{
		Version: 2, Width: size.Cols, Height: size.Rows, Timestamp: now.Unix(), Title: info.Name, Command: info.Command,
		Env: map[string]string{"TERM": "xterm-256color"}, Owner: owner, Task: info.TaskID,
	}, now, r.o.Log)
}

// resume goes on with the recording of a terminal that an earlier hub began. What that
// hub wrote and did not acknowledge comes again, so it goes. held is what was shown and is
// not in the file yet: the beginning of a character.
func (r *Recordings) resume(id string, began time.Time, at recorded, held []byte) *recording {
	if r == nil {
		return nil
	}
	file, err := os.OpenFile(r.path(id), os.O_WRONLY, 0o600)
	if err == nil {
		if err = file.Truncate(int64(at.Bytes)); err == nil {
			_, err = file.Seek(0, io.SeekEnd)
		}
	}
	if err != nil {
		r.o.Log.Warn("a terminal is no longer recorded", "terminal", id, "error", err)
		return nil
	}
	rec := &recording{file: file, out: bufio.NewWriter(file), log: r.o.Log, began: began, flushed: time.Now(), written: at.Bytes, text: *viber.NewTextSplitter(at.Text)}
	rec.output(held)
	return rec
}

func (r *Recordings) path(id string) string { return filepath.Join(r.o.Dir, id+castSuffix) }

// List shows the caller's recordings, newest first.
func (r *Recordings) List(who identity.Actor) ([]Recording, error) {
	list := []Recording{}
	if r == nil {
		return list, nil
	}
	files, err := r.files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if rec, err := r.head(strings.TrimSuffix(f.Name(), castSuffix)); err == nil && who.Owns(rec.owner) {
			list = append(list, rec)
		}
	}
	slices.SortFunc(list, func(a, b Recording) int { return strings.Compare(b.ID, a.ID) })
	return list, nil
}

// Open gives one recording; the caller closes it.
func (r *Recordings) Open(who identity.Actor, id string) (Recording, io.ReadSeekCloser, error) {
	if r == nil || uuid.Validate(id) != nil {
		return Recording{}, nil, ErrNotFound
	}
	rec, err := r.head(id)
	if err != nil || !who.Owns(rec.owner) {
		return Recording{}, nil, ErrNotFound
	}
	file, err := os.Open(r.path(id))
	if errors.Is(err, os.ErrNotExist) {
		err = ErrNotFound
	}
	return rec, file, err
}

// head reads what a file says of itself.
func (r *Recordings) head(id string) (Recording, error) {
	file, err := os.Open(r.path(id))
	if err != nil {
		return Recording{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return Recording{}, err
	}
	// The header holds a command of at most a frame.
	line, err := bufio.NewReader(io.LimitReader(file, 2*viber.MaxFrame)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return Recording{}, err
	}
	var h castHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return Recording{}, err
	}
	return Recording{
		ID: id, Name: h.Title, Command: h.Command, Task: h.Task, Began: time.Unix(h.Timestamp, 0).UTC(), Bytes: info.Size(), owner: h.Owner,
	}, nil
}

func (r *Recordings) files() ([]os.FileInfo, error) {
	entries, err := os.ReadDir(r.o.Dir)
	if err != nil {
		return nil, err
	}
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(e.Name()) == castSuffix {
			files = append(files, info)
		}
	}
	return files, nil
}

// prune removes what is too old or too much, oldest first.
func (r *Recordings) prune() {
	files, err := r.files()
	if err != nil {
		r.o.Log.Warn("old recordings of terminals stay", "error", err)
		return
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var sum int64
	for _, f := range files {
		sum += f.Size()
		if sum > r.o.Bytes || time.Since(f.ModTime()) > r.o.Age {
			_ = os.Remove(filepath.Join(r.o.Dir, f.Name())) // the next pruning tries again
		}
	}
}
