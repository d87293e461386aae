package work

import (
	"context"
	"path/filepath"
	"sync"
)

// folderLocks lets one exclusive task at a time into a workspace, first come,
// first served.
type folderLocks struct {
	mu sync.Mutex
	by map[string]*folderLock
}

type folderLock struct {
	token chan struct{} // holds one value while the folder is free
	users int
}

func newFolderLocks() *folderLocks { return &folderLocks{by: map[string]*folderLock{}} }

// acquire waits for the folder; release gives it back.
func (f *folderLocks) acquire(ctx context.Context, folder string) (release func(), err error) {
	folder = filepath.Clean(folder)
	f.mu.Lock()
	l := f.by[folder]
	if l == nil {
		l = &folderLock{token: make(chan struct{}, 1)}
		l.token <- struct{}{}
		f.by[folder] = l
	}
	l.users++
	f.mu.Unlock()
	leave := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(f.by, folder)
		}
	}
	select {
	case <-l.token:
		var once sync.Once
		return func() { once.Do(func() { l.token <- struct{}{}; leave() }) }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
