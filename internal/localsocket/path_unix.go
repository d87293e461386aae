//go:build unix

package localsocket

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// MaxPath is what a socket's path has to be shorter than, on the smallest of our systems.
const MaxPath = 100

// Path spells the path of a socket in a folder so that it fits, where the system knows
// another way to write it. It is good until done is called.
func Path(folder, name string) (path string, done func(), err error) {
	path = filepath.Join(folder, name)
	if len(path) < MaxPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(folder)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), name), func() { _ = dir.Close() }, nil
}

// Dial connects to a socket in a folder.
func Dial(folder, name string) (*net.UnixConn, error) {
	path, done, err := Path(folder, name)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
}
