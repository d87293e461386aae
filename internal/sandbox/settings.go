package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// secretSettings are not read by programs of agents whatever their mode says.
var secretSettings = []string{
	"/etc/parley", "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
	"/etc/security/opasswd", "/etc/krb5.keytab", "/etc/letsencrypt", "/etc/wireguard", "/etc/NetworkManager/system-connections",
}

// settings lists what of a folder of system settings everybody on the machine may
// read: whole folders where that is all of it, else one by one. A hub that runs as
// root could read the rest; programs of its agents must not.
func settings(dir string, hidden []string) []string {
	list, whole := public(dir, hidden)
	if whole {
		list = []string{dir}
	}
	return append(list, linked(dir)...)
}

func public(dir string, hidden []string) (list []string, whole bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	whole = true
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		paths, all := publicEntry(path, e, hidden)
		list, whole = append(list, paths...), whole && all
	}
	return list, whole
}

// othersRead and othersEnter are the bits for everybody.
const (
	othersRead  fs.FileMode = 0o4
	othersEnter fs.FileMode = 0o1
)

func publicEntry(path string, e fs.DirEntry, hidden []string) (list []string, all bool) {
	if slices.Contains(secretSettings, path) || slices.Contains(hidden, path) {
		return nil, false
	}
	if e.Type()&fs.ModeSymlink != 0 {
		return nil, true // what it leads to is open for itself, or is not
	}
	info, err := e.Info()
	switch {
	case err != nil || info.Mode()&othersRead == 0:
		return nil, false
	case !e.IsDir():
		return []string{path}, info.Mode().IsRegular()
	case info.Mode()&othersEnter == 0:
		return nil, false
	}
	if list, all = public(path, hidden); all {
		return []string{path}, true
	}
	return list, false
}

// linked are the settings that the system keeps elsewhere, as it does with
// /run/systemd/resolve/stub-resolv.conf.
func linked(dir string) (list []string) {
	for _, name := range []string{"resolv.conf", "hosts", "nsswitch.conf"} {
		target, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || !within(target, "/run") {
			continue
		}
		if info, err := os.Stat(target); err == nil && info.Mode().IsRegular() && info.Mode()&othersRead != 0 {
			list = append(list, target)
		}
	}
	return list
}
