package logs

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// kept is how many days of logs stay.
const kept = 14

// File is a log file per day. A folder that cannot be written to loses
// records, not the endpoint.
type File struct {
	folder string
	now    func() time.Time

	mu  sync.Mutex
	day string
	f   *os.File
}

// OpenFile makes the log of a folder; files are made when there is something
// to write.
func OpenFile(folder string) *File { return &File{folder: folder, now: time.Now} }

// Handler writes records as JSON, one per line.
func (l *File) Handler(level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level})
}

// Write implements io.Writer.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if day := l.now().UTC().Format(time.DateOnly); day != l.day || l.f == nil {
		if err := l.open(day); err != nil {
			return 0, err
		}
	}
	return l.f.Write(p)
}

// Close ends the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	f := l.f
	l.f = nil
	return f.Close()
}

func (l *File) open(day string) error {
	if l.f != nil {
		_ = l.f.Close() // yesterday's
		l.f = nil
	}
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(l.folder, "endpoint-"+day+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l.f, l.day = f, day
	l.prune()
	return nil
}

// prune removes what is too old; names sort by day.
func (l *File) prune() {
	names, err := filepath.Glob(filepath.Join(l.folder, "endpoint-*.log"))
	if err != nil {
		return
	}
	slices.Sort(names)
	for _, name := range names[:max(0, len(names)-kept)] {
		_ = os.Remove(name) // it is tried again tomorrow
	}
}
