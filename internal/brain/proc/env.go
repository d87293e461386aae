package proc

import "strings"

// CleanEnv is the environment without anything that looks like a secret: names
// that begin with PARLEY_ or end in _KEY, _TOKEN, _SECRET, _PASSWORD or
// _CREDENTIALS, in any case.
func CleanEnv(env []string) []string {
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
