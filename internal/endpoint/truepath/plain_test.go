package truepath

import "testing"

func TestTruePathsAreShownTheWayPeopleWriteThem(t *testing.T) {
	for given, want := range map[string]string{
		`\\?\C:\Windows\notepad.exe`: `C:\Windows\notepad.exe`,
		`\\?\UNC\server\share\x`:     `\\server\share\x`,
		`\\?\Volume{1-2}\x`:          `\\?\Volume{1-2}\x`,
		`C:\x`:                       `C:\x`,
		`/etc/hosts`:                 `/etc/hosts`,
		`/odd/\\?\C:\x`:              `/odd/\\?\C:\x`,
	} {
		if got := Plain(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}
