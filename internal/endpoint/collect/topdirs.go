package collect

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// dirsEvery is how often the large folders are looked for: it reads the
	// whole disk.
	dirsEvery = 24 * time.Hour
	// dirsBudget bounds one search; what was not reached is not counted.
	dirsBudget = 60 * time.Second
	// dirsShown is how many are named.
	dirsShown = 10
)

// dirSize is a large folder.
type dirSize struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// topDirs remembers the large folders between searches.
type topDirs struct {
	mu   sync.Mutex
	dirs []dirSize
}

// latest gives what the last search found.
func (t *topDirs) latest() []dirSize {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.dirs)
}

// Watch looks for large folders once a day, until ctx ends.
func (c *Collector) Watch(ctx context.Context) {
	ticker := time.NewTicker(dirsEvery)
	defer ticker.Stop()
	for {
		c.dirs.search(ctx, userFolders())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// userFolders is where people keep large things.
func userFolders() []string {
	var patterns []string
	switch runtime.GOOS {
	case "windows":
		patterns = []string{filepath.Join(os.Getenv("SystemDrive")+`\`, "Users", "*", "*")}
	case "darwin":
		patterns = []string{"/Users/*/*", "/Applications"}
	default:
		patterns = []string{"/home/*/*", "/root/*", "/var/*", "/opt/*", "/srv/*"}
	}
	var out []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err == nil {
			out = append(out, found...)
		}
	}
	return out
}

// search measures folders until its budget is used up.
func (t *topDirs) search(ctx context.Context, folders []string) {
	ctx, cancel := context.WithTimeout(ctx, dirsBudget)
	defer cancel()
	var found []dirSize
	for _, f := range folders {
		info, err := os.Lstat(f)
		if err != nil || !info.IsDir() {
			continue
		}
		n, whole := sizeOf(ctx, f)
		if !whole {
			break
		}
		found = append(found, dirSize{f, n})
	}
	slices.SortFunc(found, func(a, b dirSize) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path)) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirs = found[:min(len(found), dirsShown)]
}

// sizeOf adds up a folder without following links; whole is false when time
// ran out.
func sizeOf(ctx context.Context, folder string) (total int64, whole bool) {
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total, err == nil
}
