package policy

import (
	"testing"

	"parley.internal/protocol/kenny"
)

func TestPathsHaveOneCleanForm(t *testing.T) {
	for _, c := range []struct {
		os       kenny.OS
		in, want string
	}{
		{kenny.Windows, `c:/Windows/System32`, `C:\Windows\System32`},
		{kenny.Windows, `C:\\Windows\\.\\x. . \y.txt::$DATA`, `C:\Windows\x\y.txt`},
		{kenny.Windows, `\\?\C:\Windows`, `C:\Windows`},
		{kenny.Windows, `\\.\C:\Windows`, `C:\Windows`},
		{kenny.Windows, `//?/c:/windows`, `C:\windows`},
		{kenny.Windows, `\??\C:\Windows`, `C:\Windows`},
		{kenny.Windows, `\\?\UNC\localhost\C$\Windows`, `C:\Windows`},
		{kenny.Windows, `\\127.0.0.1\d$\x`, `D:\x`},
		{kenny.Windows, `\\PC\ADMIN$\System32\config\SAM`, `C:\Windows\System32\config\SAM`},
		{kenny.Windows, `\\?\GLOBALROOT\Device\HarddiskVolumeShadowCopy1\Windows`, `C:\Windows`},
		{kenny.Windows, `\\.\GlobalRoot\Device\HarddiskVolume3\a`, `C:\a`},
		{kenny.Windows, `\\?\Volume{1b2c-3d}\a`, `C:\a`},
		{kenny.Windows, `\\?\GLOBALROOT\DosDevices\C:\a`, `C:\a`},
		{kenny.Windows, `\\server\share\a`, `\\server\share\a`},
		{kenny.Windows, `C:`, `C:\`},
		{kenny.Windows, ``, ``},
		{kenny.Linux, `//etc/./shadow/`, `/etc/shadow`},
		{kenny.Linux, `/proc/self/root/etc/shadow`, `/etc/shadow`},
		{kenny.Linux, `/proc/1/root/proc/self/task/7/root/etc/x`, `/etc/x`},
		{kenny.Linux, `/proc/self/root`, `/`},
		{kenny.Linux, `/private/etc/x`, `/private/etc/x`},
		{kenny.Linux, `a//b`, `a/b`},
		{kenny.MacOS, `/private/etc/master.passwd`, `/etc/master.passwd`},
		{kenny.MacOS, `/System/Volumes/Data/Users/ann`, `/Users/ann`},
		{kenny.MacOS, "/Users/rene\u0301", "/Users/ren\u00e9"},
	} {
		if got := CleanPath(c.os, c.in); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.os, c.in, got, c.want)
		}
	}
}

func TestDisguisedPathsDoNotReachAProtectedFile(t *testing.T) {
	s := Builtin()
	for _, c := range []struct {
		os   kenny.OS
		path string
	}{
		{kenny.Windows, `\\?\C:\Windows\System32\config\SAM`},
		{kenny.Windows, `\\.\GLOBALROOT\Device\HarddiskVolumeShadowCopy2\Windows\System32\config\SAM`},
		{kenny.Windows, `C:\Windows\System32\config\SAM.`},
		{kenny.Windows, `C:\Windows\System32\config\SAM ::$DATA`},
		{kenny.Windows, `c:/WINDOWS\system32/./config/sam`},
		{kenny.Windows, `\\localhost\c$\Windows\System32\config\SAM`},
		{kenny.Windows, `C:\Users\ann\.ssh`},
		{kenny.Windows, `C:\Users\ann\.ssh::$INDEX_ALLOCATION\id_rsa`},
		{kenny.Windows, `C:\ProgramData\Parley\Endpoint\key`},
		{kenny.Linux, `/proc/self/root/etc/shadow`},
		{kenny.Linux, `/proc/1/root//etc/./shadow`},
		{kenny.Linux, `/var/lib/parley-endpoint/key`},
		{kenny.Linux, `/home/ann/.ssh/`},
		{kenny.MacOS, `/private/ETC/Master.Passwd`},
		{kenny.MacOS, `/System/Volumes/Data/Users/ann/library/KEYCHAINS/login.keychain-db`},
		{kenny.MacOS, `/Library/Application Support/Parley/Endpoint`},
	} {
		if _, hit := s.CheckPath(c.os, c.path); !hit {
			t.Errorf("%s: %s passes", c.os, c.path)
		}
	}
}

func TestTheTruePathIsJudgedToo(t *testing.T) {
	s := Builtin()
	if _, hit := s.CheckPath(kenny.Linux, "/tmp/harmless.txt", "/etc/shadow"); !hit {
		t.Error("a link to the shadow file passes")
	}
	if _, hit := s.CheckPath(kenny.Windows, `C:\Users\ann\SSH~1\k.txt`, `\\?\C:\Users\ann\.ssh\k.txt`); !hit {
		t.Error("a short name passes")
	}
	if _, hit := s.CheckPath(kenny.Linux, "/tmp/a", "/tmp/a"); hit {
		t.Error("a document is refused")
	}
}

func TestParentComponentsAreRefused(t *testing.T) {
	s := Builtin()
	for _, c := range []struct {
		os   kenny.OS
		path string
		want bool
	}{
		{kenny.Linux, "/tmp/../etc/hosts", true},
		{kenny.Linux, "/tmp/..", true},
		{kenny.Linux, "/tmp/..a/b", false},
		{kenny.Linux, "/tmp/.../b", false},
		{kenny.Windows, `C:\a\..\b`, true},
		{kenny.Windows, `C:/a/.. /b`, true},
		{kenny.Windows, `C:\a\...\b`, true},
		{kenny.Windows, `C:\a\..b\c`, false},
	} {
		if r, hit := s.CheckPath(c.os, c.path); hit != c.want || hit && r.ID != "guard.parent_path" {
			t.Errorf("%s %s: %v %s", c.os, c.path, hit, r.ID)
		}
	}
}

func FuzzPaths(f *testing.F) {
	f.Add(`\\?\UNC\localhost\C$\x`)
	f.Add("/proc/self/root/proc/self/root")
	f.Add("\\\\?\\\\\\?\\C:\\..\\:")
	s := Builtin()
	f.Fuzz(func(t *testing.T, path string) {
		if len(path) > kenny.MaxText {
			return
		}
		for _, os := range []kenny.OS{kenny.Windows, kenny.Linux, kenny.MacOS} {
			s.CheckPath(os, path, path)
			if once := CleanPath(os, path); os != kenny.Windows && CleanPath(os, once) != once && len(path) < 200 {
				t.Errorf("%s: %q cleans to %q, then to %q", os, path, once, CleanPath(os, once))
			}
		}
	})
}
