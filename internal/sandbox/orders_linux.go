package sandbox

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"box.local/launcher"
	"golang.org/x/sys/unix"
)

// script is the launcher's orders for one box, and the files it needs for them.
type script struct {
	text  strings.Builder
	files []*os.File // from launcher.More on
}

func (c *script) order(verb, first, second string) {
	for _, word := range []string{verb, first, second} {
		c.text.WriteString(strings.ReplaceAll(word, "\x00", "")) // no path has any
		c.text.WriteByte(0)
	}
}

// file is the orders as an open file that nobody else can find.
func (c *script) file() (*os.File, error) {
	fd, err := unix.MemfdCreate("orders of a box", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "orders of a box")
	if _, err := f.WriteString(c.text.String()); err != nil {
		_ = f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// give hands an open file to the launcher and tells its number there.
func (c *script) give(f *os.File) string {
	c.files = append(c.files, f)
	return strconv.Itoa(launcher.More + len(c.files) - 1)
}

// script writes down how a box is made.
func (s *Sandbox) script(o orders, p Program, temp string) *script {
	c := &script{}
	if s.o.Support.Isolation == Full {
		s.mounts(c, o, p, temp)
	}
	s.network(c, p)
	for _, l := range s.o.Limits.list(s.o.Support) {
		c.order(launcher.Limit, strconv.Itoa(l.resource), strconv.FormatUint(l.most, 10))
	}
	return c
}

// network says what a program may connect to: in a network of its own the way out, if it has
// one; in the machine's nothing, or TCP where hosts were named for it.
func (s *Sandbox) network(c *script, p Program) {
	switch {
	case s.o.Support.Isolation != Rules:
		c.order(launcher.Loopback, "", "")
		if p.Exit != nil {
			c.order(launcher.Listen, "", "")
		}
		c.order(launcher.Sockets, launcher.Any, "")
	case p.Exit != nil && p.Leaves:
		c.order(launcher.Sockets, launcher.Stream, "")
	default:
		c.order(launcher.Sockets, launcher.None, "")
	}
}

// mounts shows the box what is inside, where it is outside, and nothing else. /tmp is its
// own temporary folder.
func (s *Sandbox) mounts(c *script, o orders, p Program, temp string) {
	c.order(launcher.Root, rootAt, "")
	s.showWritable(c, temp, "/tmp")
	c.order(launcher.Again, "/tmp", temp)
	named := slices.Concat(s.o.Read, p.Read, p.SharedRead)
	for _, path := range inside(o.Read, o.Write) {
		switch {
		case path == temp:
		case slices.Contains(o.Write, path):
			s.showWritable(c, path, path)
		default:
			s.showReadable(c, path, slices.ContainsFunc(named, func(one string) bool { return within(path, Resolved(one)) }))
		}
	}
	for _, path := range devices {
		c.order(launcher.Bind, path, path)
	}
	c.order(launcher.Terminal, "", "")
	for _, l := range s.links(p) {
		c.order(launcher.Link, l[0], l[1])
	}
	c.order(launcher.Proc, strconv.FormatUint(uint64(readDir)&confined(s.o.Support.Version).Handled_access_fs, 10), "")
	c.order(launcher.Shut, "", "")
	for _, path := range append([]string{"/tmp"}, o.Write...) {
		c.order(launcher.Writable, path, "")
	}
	c.order(launcher.Folder, Resolved(cmp.Or(p.Dir, temp)), "")
}

// rootAt is a folder that every system has; the new root is made there and moved away.
const rootAt = "/proc"

// notShown are what Landlock allows and a box with its own files has otherwise, or must
// not have: /proc is its own, and the names of the machine's networks are the machine's.
var notShown = []string{"/proc", "/sys/class/net"}

// inside lists what is shown, folders before what lies in them, and of the settings in /etc
// the whole: there are many, and the rules say which of them can be read.
func inside(read, write []string) []string {
	var list []string
	for _, path := range read {
		if within(path, "/etc") {
			path = "/etc"
		}
		if !slices.Contains(notShown, path) {
			list = append(list, path)
		}
	}
	list = append(list, write...)
	slices.Sort(list)
	list = slices.Compact(list)
	var shown []string
	for _, path := range list {
		covered := slices.ContainsFunc(shown, func(above string) bool {
			return within(path, above) && (!slices.Contains(write, path) || slices.Contains(write, above))
		})
		if !covered {
			shown = append(shown, path)
		}
	}
	return shown
}

// deviceLinks are names that programs know their own files by.
var deviceLinks = [][2]string{
	{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
}

// links are the other names of what is inside a box.
func (s *Sandbox) links(p Program) [][2]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(deviceLinks, s.names, links(slices.Concat(p.Folders, p.Read, []string{p.Path, p.Dir})))
}
