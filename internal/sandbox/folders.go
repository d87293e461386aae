package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// system is what programs are made of: everybody on the machine can read it.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/run/current-system", "/snap",
	"/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/class/net", "/sys/kernel/mm/transparent_hugepage",
}

// homeSecrets are what people keep in their home that is nobody else's business.
var homeSecrets = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".config", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird", ".local/share/keyrings",
	".netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".cargo/credentials.toml", ".m2/settings.xml",
	".bash_history", ".zsh_history", ".parley",
}

func secretsOf(home string) []string {
	if home == "" {
		return nil
	}
	home = Resolved(home)
	var list []string
	for _, name := range homeSecrets {
		list = append(list, filepath.Join(home, name))
	}
	return list
}

// readable is what every box may read, and the program itself.
func (s *Sandbox) readable(program string) ([]string, error) {
	program = Resolved(program)
	if s.hubs(program) {
		return nil, fmt.Errorf("%w: the program %s lies in the hub's data folder", ErrFolder, filepath.Base(program))
	}
	return append(s.common(), program), nil
}

// fresh is how long a look at the machine holds. Many commands come at once, and a box
// that is made now may last for hours anyway.
const fresh = 10 * time.Second

// common is what all boxes may read.
func (s *Sandbox) common() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == nil || time.Since(s.looked) > fresh {
		s.read = nil
		base := system
		if runtime.GOOS == "darwin" {
			base = slices.Concat(system, systemMac)
		}
		for _, dir := range slices.Concat(base, s.toolchains(), s.o.Read) {
			s.read = append(s.read, s.without(Resolved(dir))...)
		}
		s.read = append(s.read, settings("/etc", s.hidden)...)
		slices.Sort(s.read)
		s.names = links(slices.Concat(system, s.pathFolders(), s.o.Read, s.o.Write))
		s.read, s.looked = slices.Compact(s.read), time.Now()
	}
	return slices.Clone(s.read)
}

// links are other names of what is inside, and what they lead to: /bin for /usr/bin.
func links(paths []string) (list [][2]string) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		path = filepath.Clean(path)
		if found, err := filepath.EvalSymlinks(path); err == nil && found != path {
			list = append(list, [2]string{path, found})
		}
	}
	return list
}

// writable is a folder of a program as the box gets it.
func (s *Sandbox) writable(dir string) ([]string, error) {
	dir = Resolved(dir)
	switch {
	case s.hubs(dir):
		return nil, fmt.Errorf("%w: %s lies in the hub's data folder, where only %s may be used", ErrFolder, dir, s.o.Workspace)
	case dir == filepath.Dir(dir):
		return nil, fmt.Errorf("%w: it is the whole machine", ErrFolder)
	}
	return s.without(dir), nil
}

// without is a folder, or its insides one by one where something in it is hidden:
// the kernel knows no exceptions from a folder it was given.
func (s *Sandbox) without(dir string) []string {
	if s.hubs(dir) {
		return nil
	}
	if !slices.ContainsFunc(s.hidden, func(h string) bool { return h != dir && within(h, dir) && exists(h) }) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if slices.Contains(s.hidden, path) || e.Type()&os.ModeSymlink != 0 {
			continue // where a link leads is open for itself, or is not
		}
		list = append(list, s.without(path)...)
	}
	return list
}

// hubs tells what is the hub's own, which nobody can give.
func (s *Sandbox) hubs(path string) bool {
	given := within(path, s.o.Workspace) || path != s.o.Workspaces && within(path, s.o.Workspaces)
	return !given && (within(path, s.o.Data) || slices.ContainsFunc(s.o.Hidden, func(h string) bool { return within(path, h) }))
}

// toolchains are the folders of the PATH and, where one is the bin of an
// installation, the whole of that: its libraries lie beside it. The home folder
// of a person is none, nor is what all programs share there.
func (s *Sandbox) toolchains() []string {
	var list []string
	for _, dir := range s.pathFolders() {
		dir = Resolved(dir)
		if !s.tool(dir) {
			continue
		}
		list = append(list, dir)
		if parent := filepath.Dir(dir); filepath.Base(dir) == "bin" && s.tool(parent) && !s.personal(parent) {
			list = append(list, parent)
		}
	}
	return list
}

// pathFolders are the folders of the PATH as they are written there.
func (s *Sandbox) pathFolders() (list []string) {
	for _, kv := range s.o.Environ {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			list = append(list, slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return !filepath.IsAbs(dir) })...)
		}
	}
	return list
}

// tool tells a folder that may be open to all boxes: it is neither the hub's nor
// somebody's home, nor has it such a one inside.
func (s *Sandbox) tool(dir string) bool {
	home := Resolved(s.o.Home)
	return !within(dir, s.o.Data) && !within(s.o.Data, dir) && !within(home, dir) && dir != filepath.Dir(dir) && !isHome(dir) &&
		!slices.ContainsFunc(s.hidden, func(h string) bool { return within(dir, h) })
}

// personal tells a folder in a home where all kinds of programs keep what they know.
func (s *Sandbox) personal(dir string) bool {
	parent := filepath.Dir(dir)
	return slices.Contains([]string{".local", ".config", ".cache", ".var"}, filepath.Base(dir)) && (isHome(parent) || parent == Resolved(s.o.Home))
}

func isHome(dir string) bool { return filepath.Dir(dir) == "/home" || dir == "/home" || dir == "/root" }

// within tells that a path is a folder or below it. No path is below nothing.
func within(path, dir string) bool {
	if dir == "" || path == "" {
		return false
	}
	if runtime.GOOS != "windows" && filepath.IsAbs(path) && filepath.IsAbs(dir) { // the short way, for many paths
		path, dir = filepath.Clean(path), filepath.Clean(dir)
		return path == dir || dir == "/" || len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
