package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley.internal/internal/fit"
)

func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Service{}, "Idle")); d != "" {
		t.Errorf("%s: %s; want no difference", what, d)
	}
}

func TestWingetTablesAreReadByTheirHeader(t *testing.T) {
	same(t, "with updates", []Package{
		{ID: "Example.StudioEditor", Name: "Studio Editor 4", Version: "4.2.1", Available: "4.3.0"},
		{ID: "Contoso.Reader", Name: "Contoso Reader (x64)", Version: "11.0.23"},
		{ID: `ARP\Machine\X64\{1234-5678}`, Name: "Old Tool", Version: "1.0"},
		{ID: "Vendor.App.Preview", Name: "Long Name That Was Cut By The Co…", Version: "> 2.0.0", Available: "2.1.0-beta"},
	}, parseWinget(sample(t, "winget_list.txt")))
	same(t, "without", []Package{
		{ID: "Example.StudioEditor", Name: "Studio Editor 4", Version: "4.2.1"},
		{ID: "Seven.Tools", Name: "7 Tools", Version: "23.01"},
	}, parseWinget(sample(t, "winget_noavailable.txt")))
	same(t, "another language", []Package{{ID: "Beispiel.Uebersetzer", Name: "Übersetzer Plus", Version: "1.0", Available: "1.1"}}, parseWinget(sample(t, "winget_de.txt")))
	same(t, "wide characters", []Package{{ID: "Rei.Etsuran", Name: "文書閲覧", Version: "3.2"}}, parseWinget(sample(t, "winget_ja.txt")))
	for _, nothing := range []string{"", "No installed package found.\n", "-----------\n"} {
		if got := parseWinget(nothing); got != nil {
			t.Errorf("%q became %v", nothing, got)
		}
	}
}

func TestSystemdServicesSpeakTheCommonWords(t *testing.T) {
	got := systemdServices(parseSystemctlShow(sample(t, "systemctl_show.txt")), parseUnitFiles(sample(t, "unit_files.txt")))
	same(t, "services", []Service{
		{Name: "backup", Display: "Nightly copy = safe", Status: Failed, Start: Manual},
		{Name: "gone", Display: "On its way out", Status: Stopping, Start: Disabled},
		{Name: "idle", Display: "idle", Status: Stopped, Start: Disabled},
		{Name: "slow", Display: "Takes its time", Status: Starting, Start: Disabled},
		{Name: "web", Display: "The web site", Status: Running, Start: Auto},
	}, got)
}

func TestLaunchdServicesSpeakTheCommonWords(t *testing.T) {
	services := parseLaunchctl(sample(t, "launchctl_list.txt"))
	p, err := Plist([]byte(sample(t, "job.plist")))
	if err != nil {
		t.Fatal(err)
	}
	job := readJob(p)
	same(t, "job", launchdJob{Label: "org.example.daemon", Command: "/usr/local/bin/exampled --quiet", Auto: true}, job)
	applyJobs(services, []launchdJob{job}, parseLaunchctlDisabled(sample(t, "launchctl_disabled.txt")))
	same(t, "services", []Service{
		{Name: "org.example.broken", Display: "org.example.broken", Status: Failed, Start: Manual},
		{Name: "org.example.daemon", Display: "org.example.daemon", Status: Running, Start: Auto},
		{Name: "org.example.idle", Display: "org.example.idle", Status: Stopped, Start: Disabled},
		{Name: "org.example.killed", Display: "org.example.killed", Status: Stopped, Start: Manual},
	}, services)
}

func TestPropertyListsAreRead(t *testing.T) {
	p, err := Plist([]byte(sample(t, "job.plist")))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "values", map[string]any{
		"Label": "org.example.daemon", "ProgramArguments": []any{"/usr/local/bin/exampled", "--quiet"},
		"KeepAlive": map[string]any{"SuccessfulExit": false}, "Nice": int64(5), "Ratio": 0.5, "Blob": []byte("hello"), "RunAtLoad": true,
	}, p)
	for _, bad := range []string{"", "<plist>", "<plist><dict><key>a</key></dict></plist>", "<plist><dict><string>a</string></dict></plist>", "<plist><array/></plist>", "<plist><integer>x</integer></plist>", "<plist>" + strings.Repeat("<array>", 100)} {
		if _, err := Plist([]byte(bad)); err == nil {
			t.Errorf("%.40q was accepted", bad)
		}
	}
	same(t, "disks", []string{"disk0", "disk2"}, WholeDisks([]byte("<plist><dict><key>WholeDisks</key><array><string>disk0</string><string>disk2</string></array></dict></plist>")))
}

func FuzzPlist(f *testing.F) {
	data, err := os.ReadFile("testdata/job.plist")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parsePlist(data) })
}

func FuzzWinget(f *testing.F) {
	data, err := os.ReadFile("testdata/winget_list.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range parseWinget(text) {
			if p.ID == "" || p.Version == "" {
				t.Errorf("%+v; want p.ID not to be \"\", p.Version not to be \"\"", p)
			}
		}
	})
}

func FuzzJournal(f *testing.F) {
	data, err := os.ReadFile("testdata/journal.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) { _ = parseJournal(data) })
}

func TestEventsOfThreeSystemsLookAlike(t *testing.T) {
	same(t, "journald", []Event{
		{Time: "2026-06-04T18:00:01.25Z", Level: "error", Source: "sshd", Message: "connection refused"},
		{Time: "2026-06-04T18:00:00Z", Level: "info", Source: "web.service", Message: "hi\uFFFD"},
		{Time: "", Level: "info", Source: "first", Message: ""},
		{Time: "2026-06-04T17:59:59Z", Level: "critical", Source: "kernel", Message: "panic"},
	}, parseJournal([]byte(sample(t, "journal.json"))))
	same(t, "macOS, newest first", []Event{
		{Time: "2026-06-04T18:00:02Z", Level: "info", Source: "thing", Message: "newer"},
		{Time: "2026-06-04T18:00:01.25Z", Level: "error", Source: "org.example.app", Message: "older"},
	}, parseUnified([]byte(sample(t, "unified.ndjson")), 10))
	if got := parseUnified([]byte(sample(t, "unified.ndjson")), 1); len(got) != 1 || got[0].Message != "newer" {
		t.Errorf("%v; want len(got) to be 1, got[0].Message to be \"newer\"", got)
	}
	events, err := parseWinEvents([]byte(sample(t, "winevents.json")))
	same(t, "Windows", []Event{
		{Time: "2026-06-04T18:00:00.0000000Z", Level: "error", Source: "Service Control Manager", Message: "The Spooler service failed"},
		{Time: "2026-06-04T17:00:00.0000000Z", Level: "info", Source: "X", Message: "y"},
	}, events)
	if err != nil {
		t.Error(err)
	}
}

func TestLongMessagesAreCutAtACharacter(t *testing.T) {
	got := fit.Cut(strings.Repeat("ä", maxMessage), maxMessage)
	if len(got) > maxMessage+len("…") || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-8:])
	}
}

func TestALogsNameNeverBecomesAnOption(t *testing.T) {
	for name, want := range map[string][]string{
		"System": nil, "application": {"_TRANSPORT=journal", "_TRANSPORT=syslog", "_TRANSPORT=stdout"}, "kernel": {"_TRANSPORT=kernel"},
		"web.service": {"--unit=web.service"}, "--vacuum-size=1": {"--unit=--vacuum-size=1"},
	} {
		same(t, name, want, journalFilter(name))
	}
	for name, want := range map[string]string{"System": "", "Application": "processID != 0", "kernel": "processID == 0", `a"b\`: `subsystem == "a\"b\\"`} {
		same(t, name, want, unifiedPredicate(name))
	}
}

func TestRoutes(t *testing.T) {
	v4 := parseProcRoute(sample(t, "proc_route.txt"))
	same(t, "v4", []Route{
		{Destination: "0.0.0.0/0", NextHop: "192.0.2.1", Interface: "wlan0", Metric: 600},
		{Destination: "0.0.0.0/0", NextHop: "192.0.2.254", Interface: "eth0", Metric: 100},
		{Destination: "192.0.2.0/24", Interface: "eth0", Metric: 100},
	}, v4)
	same(t, "v6", []Route{
		{Destination: "2001:db8::/64", Interface: "eth0", Metric: 256},
		{Destination: "::/0", NextHop: "fe80::1", Interface: "eth0", Metric: 1024},
	}, parseProcRoute6(sample(t, "proc_route6.txt")))
	same(t, "the best default", "eth0", DefaultInterface(v4))
	same(t, "none", "", DefaultInterface(v4[2:]))
	mac := parseNetstat(sample(t, "netstat.txt"))
	same(t, "macOS", []Route{
		{Destination: "0.0.0.0/0", NextHop: "192.0.2.1", Interface: "en0"},
		{Destination: "127", NextHop: "127.0.0.1", Interface: "lo0"},
		{Destination: "192.0.2", Interface: "en0"},
		{Destination: "192.0.2.7", Interface: "en0"},
	}, mac)
}

func TestNameServers(t *testing.T) {
	same(t, "resolv.conf", []string{"192.0.2.53", "2001:db8::53"}, parseResolv("# x\nsearch example.org\nnameserver 192.0.2.53\nnameserver 2001:db8::53 # two\n"))
	same(t, "scutil", []string{"192.0.2.53", "2001:db8::53"}, parseScutil(sample(t, "scutil.txt")))
}

func TestAutostartEntriesAreRead(t *testing.T) {
	same(t, "unit", "/usr/bin/web --port 80", parseExecStart("[Service]\nExecStart=\nExecStart=-/usr/bin/web --port 80\n"))
	s, on := parseDesktop("[Desktop Entry]\nName=Sync\nExec=/usr/bin/sync-it %U\n[Other]\nName=no\n")
	same(t, "desktop", Startup{Name: "Sync", Command: "/usr/bin/sync-it %U"}, s)
	if !on {
		t.Error("an entry is switched off that is not")
	}
	if _, on := parseDesktop("[Desktop Entry]\nExec=x\nHidden=true\n"); on {
		t.Error("a hidden entry counts")
	}
	same(t, "crontab", []Startup{{Name: "@reboot", Command: "/root/start.sh -v", Location: "/etc/crontab"}}, parseReboot("# @reboot no\n@reboot root /root/start.sh -v\n0 * * * * root x\n@reboot\n", "/etc/crontab", true))
	same(t, "own crontab", []Startup{{Name: "@reboot", Command: "start me", Location: "c"}}, parseReboot("@reboot start me\n", "c", false))
}

func TestPowerShellLiteralsCannotBeLeft(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "'plain'", "it's": "'it''s'", "'; Remove-Item C:\\ #": "'''; Remove-Item C:\\ #'",
		"\u2019; evil": "'\u2019\u2019; evil'", "$x `n \"": "'$x `n \"'",
	} {
		same(t, in, want, Quote(in))
	}
}
