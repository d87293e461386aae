package install

import "strings"

func shortcuts(program, state string) []shortcut {
	const dir = "/Applications/Parley/"
	return []shortcut{
		{dir + "Remote control off.command", script(program, "off", state), 0o755},
		{dir + "Remote control on.command", script(program, "on", state), 0o755},
	}
}

func script(program, verb, state string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	return "#!/bin/sh\nexec " + quote(program) + " endpoint " + verb + " --state " + quote(state) + "\n"
}
