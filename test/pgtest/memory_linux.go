package pgtest

import "syscall"

// inMemory is a file system without a disk, where Linux has one.
const inMemory = "/dev/shm"

// Memory names a folder on a file system without a disk that has so many bytes to
// spare; empty if there is none. Every commit waits for the disk, and most of what
// tests of databases do on one is wait.
func Memory(bytes uint64) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(inMemory, &fs); err != nil || fs.Flags&noExec != 0 || fs.Bavail*uint64(fs.Bsize) < bytes {
		return ""
	}
	return inMemory
}

// noExec is ST_NOEXEC: what lies there cannot be run, and a test may want to.
const noExec = 0x8
