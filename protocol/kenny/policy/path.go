package policy

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"parley.internal/protocol/kenny"
)

// PathForms gives the forms a path is matched in: as given, lexically cleaned,
// the same in small letters, and with '\' as separator, so that one pattern
// serves every system.
func PathForms(os kenny.OS, path string) []string {
	clean := CleanPath(os, path)
	folded := strings.ToLower(clean)
	forms := []string{path, clean, folded}
	for _, f := range forms[:3] {
		forms = append(forms, strings.ReplaceAll(f, "/", `\`))
	}
	return forms
}

// CleanPath spells a path in the one lexical form of its system. It knows no
// disk: short names and links need the true path, see [Set.CheckPath].
func CleanPath(os kenny.OS, path string) string {
	if os == kenny.Windows {
		return cleanWindows(path)
	}
	if os == kenny.MacOS {
		path = norm.NFC.String(path)
	}
	return cleanPOSIX(os, path)
}

// hasParent finds a '..' component. Windows drops trailing dots and blanks of
// a component, so anything of two dots or more counts there.
func hasParent(os kenny.OS, path string) bool {
	if os != kenny.Windows {
		return slices.Contains(strings.Split(path, "/"), "..")
	}
	return slices.ContainsFunc(strings.FieldsFunc(path, isSlash), func(c string) bool {
		return strings.Trim(c, ". ") == "" && strings.Count(c, ".") >= 2
	})
}

func isSlash(r rune) bool { return r == '\\' || r == '/' }

var (
	// devicePrefix is the ways to bypass or enter the NT object namespace.
	devicePrefix = regexp.MustCompile(`^(?:\\\\[?.]|\\\?\?)\\`)
	uncPrefix    = regexp.MustCompile(`(?i)^UNC\\`)
	globalRoot   = regexp.MustCompile(`(?i)^(?:GLOBALROOT|Global)\\`)
	// rawVolume names a volume, a shadow copy of one included, by device.
	rawVolume  = regexp.MustCompile(`(?i)^(?:Device\\)?(?:HarddiskVolume(?:ShadowCopy)?\d+|Harddisk\d+\\Partition\d+|Volume\{[^}\\]*\}|BootPartition|SystemPartition)(?:\\|$)`)
	dosDevice  = regexp.MustCompile(`(?i)^(?:DosDevices|GLOBAL\?\?|\?\?)\\`)
	adminShare = regexp.MustCompile(`(?i)^\\\\[^\\]+\\([a-z])\$(?:\\|$)`)
	adminRoot  = regexp.MustCompile(`(?i)^\\\\[^\\]+\\ADMIN\$(?:\\|$)`)
	drive      = regexp.MustCompile(`^[A-Za-z]:`)
)

// cleanWindows folds every spelling of a local file to drive form. Where the
// drive is not told by the text, C stands for it: no rule depends on it.
func cleanWindows(path string) string {
	return cleanComponents(cleanWindowsPrefix(strings.TrimSpace(path)))
}

// cleanWindowsPrefix is cleanWindows for the beginning of a path alone.
func cleanWindowsPrefix(path string) string {
	p := strings.ReplaceAll(path, "/", `\`)
	for range 4 { // prefixes nest; a bound keeps the loop honest
		next := foldPrefix(p)
		if next == p {
			break
		}
		p = next
	}
	return p
}

func foldPrefix(p string) string {
	if m := devicePrefix.FindString(p); m != "" {
		rest := strings.TrimLeft(p[len(m):], `\`)
		if uncPrefix.MatchString(rest) {
			return `\\` + rest[len(`UNC\`):]
		}
		return foldObject(rest)
	}
	if m := adminShare.FindStringSubmatch(p); m != nil {
		return m[1] + `:\` + p[len(m[0]):]
	}
	if m := adminRoot.FindString(p); m != "" {
		return `C:\Windows\` + p[len(m):]
	}
	return p
}

// foldObject handles what follows a device prefix.
func foldObject(rest string) string {
	rest = globalRoot.ReplaceAllString(rest, "")
	rest = dosDevice.ReplaceAllString(rest, "")
	if m := rawVolume.FindString(rest); m != "" {
		return `C:\` + rest[len(m):]
	}
	return rest
}

// cleanComponents drops empty and '.' components, streams, and the trailing
// dots and blanks Windows ignores.
func cleanComponents(p string) string {
	root := ""
	switch {
	case drive.MatchString(p):
		root, p = strings.ToUpper(p[:2])+`\`, p[2:]
	case strings.HasPrefix(p, `\\`):
		root = `\\`
	case strings.HasPrefix(p, `\`):
		root = `\`
	}
	var kept []string
	for c := range strings.SplitSeq(p, `\`) {
		c, _, _ = strings.Cut(c, ":")
		if c = strings.TrimRight(c, ". "); c != "" {
			kept = append(kept, c)
		}
	}
	return root + strings.Join(kept, `\`)
}

var (
	// procRoot is a process's view of the root folder: the same files.
	procRoot = regexp.MustCompile(`^/proc/[^/]+(?:/task/[^/]+)?/root(?:/|$)`)
	// macData and macPrivate are where macOS really keeps /Users, /etc, /var.
	macData    = regexp.MustCompile(`(?i)^/System/Volumes/Data(?:/|$)`)
	macPrivate = regexp.MustCompile(`(?i)^/private/(etc|var|tmp)(?:/|$)`)
)

func cleanPOSIX(os kenny.OS, path string) string {
	p := slashes(path)
	for range 8 { // views nest
		next := procRoot.ReplaceAllString(p, "/")
		if os == kenny.MacOS {
			next = macData.ReplaceAllString(next, "/")
			next = macPrivate.ReplaceAllString(next, "/$1/")
		}
		if next = slashes(next); next == p {
			break
		}
		p = next
	}
	return p
}

// slashes drops empty and '.' components.
func slashes(path string) string {
	var kept []string
	for c := range strings.SplitSeq(path, "/") {
		if c != "" && c != "." {
			kept = append(kept, c)
		}
	}
	p := strings.Join(kept, "/")
	if strings.HasPrefix(path, "/") {
		p = "/" + p
	}
	return p
}
