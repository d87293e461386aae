package sandbox

import (
	"fmt"
	"strings"
)

// systemMac is what programs are made of on a Mac, besides what every Unix has.
var systemMac = []string{
	"/System", "/Library/Apple", "/Library/Developer", "/Library/Frameworks", "/Library/Java", "/Library/Preferences/Logging",
	"/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select",
}

// servicesMac are those of the system that ordinary programs ask: who a user is, what time zone
// it is, where a log goes. The keychain, the clipboard and other programs are not among them.
var servicesMac = []string{
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership", "com.apple.system.notification_center",
	"com.apple.system.logger", "com.apple.logd", "com.apple.bsd.dirhelper",
}

// seatbelt writes the rules of a box in the language of macOS's Seatbelt. Nothing is allowed that
// is not written here.
func (o orders) seatbelt() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(deny default)")
	line("(allow process-fork)")
	line("(allow process-exec)")
	line("(allow process-info* (target same-sandbox))")
	line("(allow signal (target same-sandbox))")
	line("(allow sysctl-read)")
	line("(allow ipc-posix-sem)")
	line("(allow file-read-metadata)") // paths cannot be followed without
	line(`(allow file-read* (literal "/"))`)
	for _, service := range servicesMac {
		line("(allow mach-lookup (global-name %s))", quoted(service))
	}
	for _, path := range o.Read {
		line("(allow file-read* (subpath %s))", quoted(path))
	}
	for _, path := range o.Write {
		line("(allow file-read* file-write* (subpath %s))", quoted(path))
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper"} {
		line("(allow file-read* file-write-data file-ioctl (literal %s))", quoted(path))
	}
	line(`(allow file-read* file-write-data file-ioctl (regex #"^/dev/ttys[0-9]+$"))`) // a program has its own already
	// Set-user-ID programs would run outside the box.
	line("(deny file-write-setugid)")
	if o.Port != 0 {
		line(`(allow network-outbound (remote ip "localhost:%d"))`, o.Port)
	}
	return b.String()
}

// quoted is a text as that language has it.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// limitsInShell sets limits as a shell does and becomes the program, where no launcher can.
func (l Limits) limitsInShell() string {
	var script strings.Builder
	script.WriteString("ulimit -c 0")
	for _, one := range []struct {
		flag string
		most int64
	}{{"-n", int64(l.OpenFiles)}, {"-f", l.FileSize / 512}, {"-t", int64(l.CPU)}} {
		if one.most > 0 {
			fmt.Fprintf(&script, "; ulimit %s %d", one.flag, one.most)
		}
	}
	return script.String() + `; exec "$0" "$@"`
}
