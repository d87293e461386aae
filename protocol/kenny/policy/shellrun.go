package policy

import (
	"path"
	"slices"
	"strings"
)

// prefix is a program that runs another: which of its options have a value, and
// how many operands of its own come before the other's name.
type prefix struct {
	valued   string // short options with a value
	long     []string
	operands int
	text     string // an option whose value is a script
}

var prefixes = map[string]prefix{
	"sudo": {valued: "ugpCrtTUDRh", long: []string{"--user", "--group", "--prompt", "--chdir", "--host"}}, "doas": {valued: "uC"},
	"env": {valued: "uC", long: []string{"--unset", "--chdir"}}, "nohup": {}, "time": {valued: "fo"}, "nice": {valued: "n", long: []string{"--adjustment"}},
	"ionice": {valued: "cn"}, "timeout": {valued: "ks", long: []string{"--signal", "--kill-after"}, operands: 1}, "stdbuf": {valued: "ioe"}, "setsid": {},
	"command": {}, "builtin": {}, "exec": {valued: "a"}, "busybox": {}, "toybox": {}, "chroot": {operands: 1}, "chrt": {operands: 1}, "taskset": {operands: 1},
	"nsenter": {valued: "tS", long: []string{"--target"}}, "unshare": {}, "setpriv": {}, "flock": {valued: "wE", operands: 1, text: "-c"}, "pkexec": {valued: "u"},
	"su": {operands: 1, text: "-c"}, "runuser": {valued: "ug", text: "-c"}, "script": {text: "-c"}, "watch": {valued: "n", long: []string{"--interval"}},
	"systemd-run": {valued: "pMuHE", long: []string{"--unit", "--property", "--slice", "--on-active"}}, "strace": {valued: "eop"}, "ltrace": {valued: "eop"},
	"chronic": {}, "ifne": {}, "unbuffer": {}, "eatmydata": {}, "fakeroot": {}, "torsocks": {}, "proot": {valued: "rbw"}, "firejail": {}, "caffeinate": {},
	"systemd-inhibit": {long: []string{"--what", "--who", "--why"}}, "gosu": {operands: 1}, "ssh": {valued: "bcDEeFIiJLlmOopQRSWw", operands: 1}, "su-exec": {operands: 1}, "start-stop-daemon": {},
}

// prefixed reads the command that a prefix runs.
func (r *shellReader) prefixed(name string, args []string, fed string) {
	p, ok := prefixes[name]
	if !ok {
		return
	}
	r = r.child()
	if p.text != "" {
		if i := slices.Index(args, p.text); i >= 0 && i+1 < len(args) {
			r.script(args[i+1])
			return
		}
	}
	inner := p.inner(args)
	if name == "su" || len(inner) == 0 {
		return
	}
	if len(inner) == 1 && strings.ContainsAny(inner[0], " ;|&") {
		r.script(inner[0]) // watch 'a; b'
		return
	}
	r.command(inner, nil, fed)
}

// inner is where the other command begins.
func (p prefix) inner(args []string) []string {
	left := p.operands
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return args[min(i+1+left, len(args)):]
		case slices.Contains(p.long, a):
			i++
		case strings.HasPrefix(a, "--"):
		case strings.HasPrefix(a, "-") && len(a) == 2 && strings.Contains(p.valued, a[1:]):
			i++
		case strings.HasPrefix(a, "-"), isAssignment(a):
		case left > 0:
			left--
		default:
			return args[i:]
		}
	}
	return nil
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && isName(name)
}

// fedArguments reads what xargs or parallel runs, with the arguments the script
// feeds it.
func (r *shellReader) fedArguments(name string, args []string, fed string) {
	inner := prefix{valued: "InPLsdEaj", long: []string{"--max-args", "--max-procs", "--delimiter", "--arg-file", "--jobs"}}.inner(args)
	if i := slices.Index(inner, ":::"); name == "parallel" && i >= 0 {
		fed, inner = strings.Join(inner[i+1:], " "), inner[:i]
	}
	if len(inner) == 0 {
		return
	}
	mark := "{}"
	if i := slices.Index(args, "-I"); i >= 0 && i+1 < len(args) {
		mark = args[i+1]
	}
	given := strings.Fields(strings.NewReplacer("\x00", " ", `\0`, " ").Replace(fed))
	if roots, ok := strings.CutPrefix(fed, foundMark); ok {
		r.foundRun(strings.Fields(roots), inner)
		return
	}
	c := r.child()
	if slices.ContainsFunc(inner, func(w string) bool { return strings.Contains(w, mark) }) {
		for i, g := range given {
			if i == maxItems {
				break
			}
			c.command(replaceAll(inner, mark, g), nil, "")
		}
		return
	}
	c.command(slices.Concat(inner, given), nil, "")
}

func replaceAll(words []string, mark, by string) []string {
	words = slices.Clone(words)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], mark, by)
	}
	return words
}

// alike spells commands that do the same as a plainer one as that.
func (r *shellReader) alike(name string, args []string) {
	switch {
	case name == "tar" && slices.Contains(args, "--remove-files"):
		r.emit(append([]string{"rm", "-rf"}, packed(args)...), nil)
	case name == "git":
		r.git(args)
	case name == "btrfs" && len(args) > 2 && strings.HasPrefix("subvolume", args[0]) && strings.HasPrefix("delete", args[1]):
		r.emit(append([]string{"rm", "-rf"}, operands(args[2:])...), nil)
	case name == "systemctl" || name == "service" || name == "pkill" || name == "killall" || name == "rc-service" || name == "launchctl":
		if named := namesEndpoint(args); named != nil {
			r.emit(append([]string{name}, named...), nil)
		}
	}
}

// packed are the files a tar takes in: every operand but the archive.
func packed(args []string) []string {
	var all []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		letters := strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") || i == 0 && !strings.HasPrefix(a, "-")
		switch {
		case letters && strings.ContainsAny(a, "fC"), a == "--file", a == "--directory":
			i++
		case letters, strings.HasPrefix(a, "--"):
		default:
			all = append(all, a)
		}
	}
	return all
}

// git clean removes what is in the folder it works in.
func (r *shellReader) git(args []string) {
	dir := r.dir
	if i := slices.Index(args, "-C"); i >= 0 && i+1 < len(args) {
		dir = r.absolute(args[i+1])
	}
	clean := slices.Index(args, "clean")
	if clean < 0 || dir == "" {
		return
	}
	if slices.ContainsFunc(args[clean:], func(a string) bool { return a == "--force" || strings.HasPrefix(a, "-") && strings.Contains(a, "f") }) {
		r.emit([]string{"rm", "-rf", dir}, nil)
	}
}

// ownNames are what a pattern may find the endpoint by.
var ownNames = []string{"parley-endpoint", "parley-endpoint.service", "parleyendpoint", "dev.parley.endpoint", "parley"}

// namesEndpoint gives the arguments with patterns that find the endpoint replaced
// by its name; nil if there are none.
func namesEndpoint(args []string) []string {
	var named []string
	for i, a := range args {
		if own := ownName(a); own != "" {
			if named == nil {
				named = slices.Clone(args)
			}
			named[i] = own
		}
	}
	return named
}

func ownName(pattern string) string {
	if !strings.ContainsAny(pattern, "*?[") || strings.Trim(pattern, "*?") == "" {
		return ""
	}
	for _, name := range ownNames {
		if ok, err := path.Match(strings.ToLower(pattern), name); ok && err == nil {
			return name
		}
	}
	return ""
}
