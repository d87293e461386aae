package install

import (
	"os"
	"path/filepath"
)

func shortcuts(program, state string) []shortcut {
	dir := filepath.Join(os.Getenv("ProgramData"), "Microsoft", "Windows", "Start Menu", "Programs", "Parley")
	return []shortcut{
		{filepath.Join(dir, "Remote control off.cmd"), batch(program, "off", state), 0o644},
		{filepath.Join(dir, "Remote control on.cmd"), batch(program, "on", state), 0o644},
	}
}

// batch: neither a program's nor a folder's path can hold a quote on Windows.
func batch(program, verb, state string) string {
	return "@echo off\r\n\"" + program + "\" endpoint " + verb + " --state \"" + state + "\"\r\npause\r\n"
}
