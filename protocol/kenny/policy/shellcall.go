package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call reads a simple command.
func (r *shellReader) call(c *syntax.CallExpr, redirections []string, fed string) {
	words := r.words(c.Args)
	if len(c.Args) == 0 {
		r.assign(c.Assigns)
	}
	r.command(words, redirections, fed)
}

// command writes a command down, and what it runs in its turn.
func (r *shellReader) command(words, redirections []string, fed string) {
	if len(words) == 0 {
		r.emit(nil, redirections)
		return
	}
	if r.depth > maxNesting || r.lines <= 0 {
		return
	}
	words = r.place(words)
	r.emit(words, redirections)
	name, args := path.Base(words[0]), words[1:]
	if body, ok := r.funcs[words[0]]; ok {
		r.function(body, args)
		return
	}
	switch {
	case name == "cd" || name == "pushd" || name == "chdir":
		r.enter(args)
	case name == "eval":
		r.script(strings.Join(args, " "))
	case name == "set" && len(args) > 1 && args[0] == "--":
		r.vars["1"] = strings.Join(args[1:], " ")
	case name == "read":
		for _, v := range operands(args) {
			r.vars[v] = unknown
		}
	case name == "readarray" || name == "mapfile":
		r.lineArray(args, fed)
	case name == "trap" && len(args) > 1:
		r.script(args[0])
	case shells[name]:
		r.shell(args, fed)
	case name == "at" || name == "batch":
		r.script(fed)
	case name == "crontab":
		r.timetable(fed)
	case name == "xargs" || name == "parallel":
		r.fedArguments(name, args, fed)
	case name == "find":
		r.find(args)
	default:
		r.alike(name, args)
		r.prefixed(name, args, fed)
	}
}

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true, "mksh": true, "fish": true}

// function reads a function's body with the arguments of a call.
func (r *shellReader) function(body *syntax.Stmt, args []string) {
	if r.depth >= maxNesting {
		return
	}
	c := r.child()
	for i, digit := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		delete(c.vars, digit)
		if i < len(args) {
			c.vars[digit] = args[i]
		}
	}
	c.statement(body, "")
	r.dir = c.dir
}

// enter follows cd.
func (r *shellReader) enter(args []string) {
	to := operands(args)
	switch {
	case len(to) == 0 && len(args) == 0:
		r.dir = "~"
	case len(to) == 0 || to[0] == "-" || strings.Contains(to[0], unknown):
		r.dir = ""
	default:
		r.dir = strings.TrimSuffix(r.absolute(to[0]), "//")
		if r.dir == "" {
			r.dir = "/"
		}
		if !strings.HasPrefix(r.dir, "/") && !strings.HasPrefix(r.dir, "~") && !strings.HasPrefix(r.dir, "$") {
			r.dir = ""
		}
	}
}

// lineArray fills an array with the lines of the input, as readarray does.
func (r *shellReader) lineArray(args []string, fed string) {
	name := "MAPFILE"
	if named := (prefix{valued: "dnOsuCc"}).inner(args); len(named) > 0 {
		name = named[0]
	}
	if r.vars[name] = unknown; fed != "" && len(fed) <= maxValue {
		r.vars[name] = strings.TrimPrefix(fed, foundMark)
	}
}

// operands are the arguments that are no options.
func operands(args []string) []string {
	var all []string
	for i, a := range args {
		if a == "--" {
			return append(all, args[i+1:]...)
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			all = append(all, a)
		}
	}
	return all
}

// shell reads what a shell is given to run: after -c, or on its input.
func (r *shellReader) shell(args []string, fed string) {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") {
			return // a file
		}
		if !strings.HasPrefix(a, "--") && strings.HasPrefix(a, "-") && strings.Contains(a, "c") && i+1 < len(args) {
			r.script(args[i+1])
			return
		}
	}
	r.script(fed)
}

// timetable reads the lines of a crontab: five fields or @word, then a command.
func (r *shellReader) timetable(fed string) {
	for line := range strings.Lines(fed) {
		words := strings.Fields(line)
		skip := 5
		if len(words) > 0 && strings.HasPrefix(words[0], "@") {
			skip = 1
		}
		if len(words) > skip {
			r.script(strings.Join(words[skip:], " "))
		}
	}
}

// fileNames tells which programs take names of files, and how many operands come
// before them.
var fileNames = map[string]int{
	"rm": 0, "rmdir": 0, "unlink": 0, "mv": 0, "cp": 0, "ln": 0, "truncate": 0, "shred": 0, "find": 0, "tar": 0, "tee": 0,
	"cat": 0, "head": 0, "tail": 0, "less": 0, "more": 0, "strings": 0, "xxd": 0, "base64": 0, "rsync": 0, "touch": 0, "wipe": 0, "srm": 0,
	"chmod": 1, "chown": 1, "chgrp": 1, "sed": 1, "grep": 1, "awk": 1, "chattr": 1, "setfacl": 1, "umount": 0, "install": 0,
}

// place makes the names of files absolute, where the folder is known.
func (r *shellReader) place(words []string) []string {
	skip, ok := fileNames[path.Base(words[0])]
	if !ok {
		return words
	}
	words = slices.Clone(words)
	for i, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "-") || w == "" || w == "{}" || w == ";" || w == "+" || strings.Contains(w, ":"):
		case path.Base(words[0]) == "find" && (w == "(" || w == "!"):
			return words
		case skip > 0:
			skip--
		case path.Base(words[0]) == "tar" && i == 0 && !strings.ContainsAny(w, "/.*"):
			// tar's letters without a dash
		default:
			words[i+1] = r.absolute(w)
		}
		if path.Base(words[0]) == "find" && strings.HasPrefix(w, "-") && len(w) > 2 {
			return words // the expression begins
		}
	}
	return words
}
