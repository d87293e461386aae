package install

import "strings"

func shortcuts(program, state string) []shortcut {
	const dir = "/usr/local/share/applications/"
	return []shortcut{
		{dir + "parley-remote-control-off.desktop", entry("Remote control off", program, "off", state), 0o644},
		{dir + "parley-remote-control-on.desktop", entry("Remote control on", program, "on", state), 0o644},
	}
}

func entry(name, program, verb, state string) string {
	return `[Desktop Entry]
Type=Application
Name=Parley: ` + name + `
Comment=Decide whether this machine may be changed from afar
Exec=` + desktopQuote(program) + ` endpoint ` + verb + ` --state ` + desktopQuote(state) + `
Terminal=true
Categories=System;
`
}

// desktopQuote writes a word as desktop entries want it.
func desktopQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\\\`, `"`, `\\"`, "`", "\\\\`", "$", `\\$`, "%", "%%").Replace(s) + `"`
}
