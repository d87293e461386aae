package sandbox

import (
	"errors"
	"os"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// What programs may do with what they were given. Devices are never made: as root,
// one made in the workspace would be the disk itself.
const (
	readFile  landlock.AccessFSSet = ll.AccessFSExecute | ll.AccessFSReadFile
	readDir   landlock.AccessFSSet = readFile | ll.AccessFSReadDir
	writeFile landlock.AccessFSSet = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeDir  landlock.AccessFSSet = writeFile | readDir | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	device landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
)

// devices are those every program may use. Other terminals are not among them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// versions are the rules each version of Landlock knows.
var versions = []landlock.Config{
	landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
}

// restrict gives up everything but what the orders name. It takes all rules that
// this kernel knows and fails if one cannot be had. (The library's own best effort would do nothing at
// all where one is missing.)
func restrict(o orders) error {
	version, err := ll.LandlockGetABIVersion()
	if err != nil {
		return err
	}
	if version < 1 {
		return errors.New("this kernel has no Landlock")
	}
	rules := versions[min(version, len(versions))-1]
	rules.HandledAccessNet = 0 // the network is not confined yet
	var given []landlock.Rule
	give := func(paths []string, file, dir landlock.AccessFSSet) {
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				continue // what is not there cannot be reached
			}
			rights := file
			if info.IsDir() {
				rights = dir
			}
			given = append(given, landlock.PathAccess(rights&rules.HandledAccessFS, path).IgnoreIfMissing())
		}
	}
	give(o.Read, readFile, readDir)
	give(o.Write, writeFile, writeDir)
	give(append(ownTerminal(), devices...), device, 0)
	return rules.Restrict(given...)
}

// ownTerminal is the one this process was started on.
func ownTerminal() []string {
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(name, "/dev/pts/") {
		return nil
	}
	return []string{name}
}
