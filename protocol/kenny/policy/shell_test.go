package policy

import (
	"strings"
	"testing"

	"parley.internal/protocol/kenny"
)

func TestAScriptIsReadAsItsShellReadsIt(t *testing.T) {
	for script, want := range map[string]string{
		`cd /usr; rm -rf bin`:                                 "cd /usr\nrm -rf /usr/bin",
		`(cd /usr); rm -rf bin`:                               "cd /usr\nrm -rf bin",
		`cd /a/b && cd .. && rm x`:                            "cd /a/b\ncd ..\nrm /a/x",
		`r'm' -r"f" "/us"r`:                                   "rm -rf /usr",
		`sudo -u root -- env A=1 timeout -k 5 9 rm x`:         "sudo -u root -- env A=1 timeout -k 5 9 rm x\nenv A=1 timeout -k 5 9 rm x\ntimeout -k 5 9 rm x\nrm x",
		`d=/usr; rm -rf "$d/bin"`:                             "rm -rf /usr/bin",
		`for d in a b; do rm /$d; done`:                       "rm /a\nrm /b",
		`f() { rm "$2"; }; f x /y`:                            "rm ␣\nf x /y\nrm /y",
		`find /var/log -type f -delete`:                       "find /var/log -type f -delete\nrm -rf /var/log",
		`find /var/log -name '*.gz' -delete`:                  "find /var/log -name *.gz -delete",
		`bash -c 'cd /etc; rm a'`:                             "bash -c cd␣/etc␣␣rm␣a\ncd /etc\nrm /etc/a",
		"sh <<X\nrm /a\nX":                                    "sh\nrm /a",
		`echo "* * * * * rm /a" | crontab -`:                  "echo *␣*␣*␣*␣*␣rm␣/a\ncrontab -\nrm /a",
		`echo 'a;b' > "/x y"`:                                 "echo a␣b > /x␣y",
		`x=$(date); rm -rf "$x/y"`:                            "date\nrm -rf ␣/y",
		`tar --remove-files -cf /tmp/x.tar /srv/a`:            "tar --remove-files -cf /tmp/x.tar /srv/a\nrm -rf /srv/a",
		`systemctl stop "parl*"`:                              "systemctl stop parl*\nsystemctl stop parley-endpoint",
		`if ((`:                                               "",
		strings.Repeat("(", 5000) + strings.Repeat(")", 5000): "",
	} {
		if got := commandLines(script); got != want {
			t.Errorf("%s\nis read as\n%s\ninstead of\n%s", script, got, want)
		}
	}
}

func TestWhatIsOnlyPrintedIsSpared(t *testing.T) {
	for script, want := range map[string]string{
		`echo "never run rm -rf /"`:            `echo ''`,
		`grep -rn 'rm -rf /' /srv`:             `grep -rn '' /srv`,
		"ls # then rm -rf /":                   "ls ",
		`echo "rm -rf /" | sh`:                 `echo "rm -rf /" | sh`,
		`echo "rm -rf /" > /tmp/x; sh /tmp/x`:  `echo "rm -rf /" > /tmp/x; sh /tmp/x`,
		`$(echo "rm -rf /")`:                   `$(echo "rm -rf /")`,
		`echo "$(rm -rf /)"`:                   `echo "$(rm -rf /)"`,
		`echo "${x:-$(rm -rf /)}"`:             `echo "${x:-$(rm -rf /)}"`,
		`{ echo "rm -rf /"; } | sh`:            `{ echo "rm -rf /"; } | sh`,
		`echo $'\''"; rm -rf /; echo "x y"`:    `echo $'\''"; rm -rf /; echo "x y"`,
		`echo () { rm -rf /; }; echo "a b"`:    `echo () { rm -rf /; }; echo "a b"`,
		"exec > /tmp/x; echo 'rm -rf /'; sh x": "exec > /tmp/x; echo 'rm -rf /'; sh x",
		`sh -c "echo 'a b'; rm -rf /"`:         `sh -c "echo 'a b'; rm -rf /"`,
	} {
		if got := withoutPrinted(script); got != want {
			t.Errorf("%s\nbecomes\n%s\ninstead of\n%s", script, got, want)
		}
	}
}

func FuzzShellReading(f *testing.F) {
	for _, name := range []string{"dangerous", "harmless"} {
		for _, line := range corpus(f, name) {
			_, text, _ := strings.Cut(line, ": ")
			f.Add(text)
		}
	}
	f.Add(strings.Repeat("a=$a$a;", 200) + "$a")
	f.Add(strings.Repeat("f(){ f;f; };", 50) + "f")
	f.Add(strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 20) + "rm $i" + strings.Repeat("; done", 20))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > kenny.MaxScript {
			t.Skip()
		}
		for _, form := range ScriptForms(POSIXShell, text) {
			if len(form.Text) > 8*(len(text)+maxGrowth) {
				t.Errorf("%d characters became %d", len(text), len(form.Text))
			}
		}
		if spared := withoutPrinted(text); len(spared) > len(text) {
			t.Errorf("taking something out made %q longer", text)
		}
		withoutWritten(text)
		windowsLines(text)
	})
}

func BenchmarkLongShellScript(b *testing.B) {
	line := "cd /srv/app && sudo -u app find . -name '*.log' -mtime +7 -exec gzip {} + && echo \"done with $PWD\"\n"
	text := strings.Repeat(line, 64*1024/len(line))
	args := object(b, map[string]any{"script": text})
	s := Builtin()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r, hit := s.CheckCall(kenny.Linux, "shell_exec", args); hit {
			b.Fatal(r.ID)
		}
	}
}
