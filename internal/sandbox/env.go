package sandbox

import (
	"runtime"
	"slices"
	"strings"
)

// usual are the variables a program gets of the hub's own. Paths to sockets and
// to other people's folders are not among them.
var usual = []string{
	"PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// usualWindows is what programs there cannot start without.
var usualWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "PSMODULEPATH", "OS", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS",
	"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMDATA", "COMMONPROGRAMFILES", "USERNAME", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
}

// proxies are passed on, unless they hold a password, where there is no box. In a box they lead to
// its way out.
var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// environment is what a program gets: of the hub's variables only known ones. exit is the
// address of its way out.
func (s *Sandbox) environment(p Program, temp, exit string) []string {
	var env []string
	for _, kv := range s.o.Environ {
		if name, value, _ := strings.Cut(kv, "="); s.passes(name, value) {
			env = append(env, kv)
		}
	}
	if len(p.Folders) > 0 {
		env = append(env, "HOME="+p.Folders[0])
	}
	env = append(env, "TMPDIR="+temp)
	if runtime.GOOS == "windows" {
		env = append(env, "TEMP="+temp, "TMP="+temp)
	}
	if exit != "" {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			env = append(env, name+"="+exit, strings.ToLower(name)+"="+exit)
		}
		const here = "localhost,127.0.0.1,::1" // the box itself
		env = append(env, "NO_PROXY="+here, "no_proxy="+here, "NODE_USE_ENV_PROXY=1")
	}
	for name, value := range p.Env {
		env = append(env, name+"="+value)
	}
	return env
}

func (s *Sandbox) passes(name, value string) bool {
	upper := strings.ToUpper(name)
	switch {
	case slices.Contains(s.o.Env, name), slices.Contains(usual, name), strings.HasPrefix(name, "LC_"):
		return true
	case slices.Contains(proxies, upper):
		return !s.Boxed() && !strings.Contains(value, "@")
	}
	return runtime.GOOS == "windows" && (slices.Contains(usualWindows, upper) || slices.Contains(usual, upper))
}

// WithoutSecrets is the environment of a program that a person runs: all of it but
// what looks like a secret. Names that begin with PARLEY_ or end in _KEY, _TOKEN,
// _SECRET, _PASSWORD or _CREDENTIALS, in any case, are left out. Programs of agents
// get less, from [Sandbox.Prepare].
func WithoutSecrets(env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !secret(name) {
			out = append(out, kv)
		}
	}
	return out
}

func secret(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "PARLEY_") {
		return true
	}
	for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
