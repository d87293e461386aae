package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"parley.internal/protocol/viber"
)

const (
	// maxRecording is where a recording stops: hours of work, or a minute of noise.
	maxRecording = 16 << 20
	// flushEvery bounds what a crash takes from a recording.
	flushEvery = time.Second
)

// recording is what a terminal prints, as an asciicast (version 2) that common
// players understand. What is typed is not in it. A nil one records nothing.
type recording struct {
	file    io.WriteCloser
	out     *bufio.Writer
	log     *slog.Logger
	began   time.Time
	flushed time.Time
	text    viber.TextSplitter
	written int
}

// recorded is how far a recording has come: the length of the file, and the position of
// the output that is in it.
type recorded struct {
	Bytes int   `json:"bytes"`
	Text  int64 `json:"text"`
}

// castHeader is the first line of the file.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title,omitempty"`
	Command   string            `json:"command,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	// Owner and Task are ours; players pass over what they do not know.
	Owner string `json:"parley_owner,omitempty"`
	Task  string `json:"parley_task,omitempty"`
}

func newRecording(file io.WriteCloser, head castHeader, began time.Time, log *slog.Logger) *recording {
	r := &recording{file: file, out: bufio.NewWriter(file), log: log, began: began, flushed: began}
	r.line(head)
	return r
}

// output records what was printed.
func (r *recording) output(data []byte) {
	if r == nil || r.file == nil {
		return
	}
	for _, c := range r.text.Push(data) {
		r.event("o", c.Data)
	}
}

// resize records a new size.
func (r *recording) resize(s viber.Size) {
	if r == nil || r.file == nil {
		return
	}
	r.event("r", fmt.Sprintf("%dx%d", s.Cols, s.Rows))
}

func (r *recording) event(kind, data string) {
	r.line([]any{json.Number(fmt.Sprintf("%.6f", time.Since(r.began).Seconds())), kind, data})
	if r.written > maxRecording {
		r.close()
	}
}

func (r *recording) line(v any) {
	text, err := json.Marshal(v)
	if err == nil {
		r.written += len(text) + 1
		_, err = r.out.Write(append(text, '\n'))
	}
	if now := time.Now(); err == nil && now.Sub(r.flushed) > flushEvery {
		r.flushed = now
		err = r.out.Flush()
	}
	if err != nil {
		r.fail(err)
	}
}

func (r *recording) fail(err error) {
	r.log.Warn("a terminal is no longer recorded", "error", err)
	r.close()
}

// flush writes what was recorded, and tells how long the file is then and up to where the
// output is in it; ok is false for what is not recorded.
func (r *recording) flush() (at recorded, ok bool) {
	if r == nil || r.file == nil {
		return at, false
	}
	r.flushed = time.Now()
	if err := r.out.Flush(); err != nil {
		r.fail(err)
		return at, false
	}
	return recorded{Bytes: r.written, Text: r.text.Offset()}, true
}

// leave stops without an end: the hub that comes next goes on.
func (r *recording) leave() {
	if r != nil && r.file != nil {
		_ = r.out.Flush() // what was not acknowledged is recorded again
		_ = r.file.Close()
		r.file = nil
	}
}

// close ends the recording; what comes later is not in it.
func (r *recording) close() {
	if r == nil || r.file == nil {
		return
	}
	file := r.file
	if rest := r.text.Flush(); len(rest) > 0 && r.written <= maxRecording {
		r.event("o", rest[0].Data)
	}
	r.file = nil
	if err := r.out.Flush(); err != nil {
		r.log.Warn("the end of a terminal's recording is lost", "error", err)
	}
	_ = file.Close()
}
