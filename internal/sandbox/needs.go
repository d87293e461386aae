package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// never are folders of the machine that no call can ask for: what is behind them is not files.
// neverChanged are those that it cannot ask to change.
var (
	never        = []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/var/lib/docker", "/var/lib/containerd"}
	neverChanged = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/nix", "/gnu", "/snap", "/var/lib", "/var/spool"}
)

// Grantable says why folders cannot be given to one program, whoever agrees; nil if they can.
// The hub's own files cannot, nor the workspaces in its data folder, nor what people keep in their homes that
// is nobody else's business, nor a folder that has such a thing in it. A path has to be the real one,
// so that whoever agreed saw where it leads.
func (s *Sandbox) Grantable(read, write []string) error {
	for i, path := range slices.Concat(read, write) {
		if err := s.grantable(path, i >= len(read)); err != nil {
			return fmt.Errorf("%w: %s %w", ErrFolder, path, err)
		}
	}
	return nil
}

func (s *Sandbox) grantable(path string, change bool) error {
	holds := func(list []string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return within(path, one) || within(one, path) })
	}
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return reason("is not a plain absolute path")
	case !exists(path):
		return reason("is not there")
	case Resolved(path) != path:
		return reason("leads to " + Resolved(path) + "; name that")
	case path == filepath.Dir(path) || isHome(path) || within(Resolved(s.o.Home), path):
		return reason("is too much; name a folder in it")
	case holds(append([]string{s.o.Data}, s.o.Hidden...)):
		return reason("is the hub's own")
	case holds(never), holds(secretSettings), change && holds(neverChanged):
		return reason("belongs to the system")
	case holds(s.hidden), secretName(path):
		return reason("is private to a person")
	}
	return nil
}

// reason is why not, in words.
type reason string

func (r reason) Error() string { return string(r) }

// secretName tells a path in which a name says that somebody keeps secrets there, in whatever
// home.
func secretName(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool {
		return name != "" && slices.ContainsFunc(homeSecrets, func(secret string) bool {
			first, _, _ := strings.Cut(secret, "/")
			return name == first && first != ".local" && first != ".cargo" && first != ".m2" || name == filepath.Base(secret) && strings.HasPrefix(name, ".")
		})
	})
}
