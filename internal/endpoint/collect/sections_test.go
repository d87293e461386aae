package collect

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
)

func sample(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s; want no difference", what, d)
	}
}

// judged is a section in short.
func judged(s *section) string {
	if s == nil {
		return "left out"
	}
	return string(s.status) + ": " + s.summary
}

func TestTheEndpointsOwnVerdicts(t *testing.T) {
	svc := func(status, start string, idle bool) probe.Service {
		return probe.Service{Name: "web", Status: status, Start: start, Idle: idle}
	}
	offset := func(f float64) *float64 { return &f }
	for name, c := range map[string]struct {
		got  *section
		want string
	}{
		"no services":              {servicesSection(wire.Linux, nil), "ok: 0 services"},
		"failed on Linux":          {servicesSection(wire.Linux, []probe.Service{svc(probe.Failed, probe.Manual, false)}), "warn: not well: web"},
		"stopped on Linux":         {servicesSection(wire.Linux, []probe.Service{svc(probe.Stopped, probe.Auto, false)}), "ok: 1 service"},
		"stopped on Windows":       {servicesSection(wire.Windows, []probe.Service{svc(probe.Stopped, probe.Auto, false)}), "warn: not well: web"},
		"waits for a trigger":      {servicesSection(wire.Windows, []probe.Service{svc(probe.Stopped, probe.Auto, true)}), "ok: 1 service"},
		"a device in trouble":      {peripheralsSection([]device{{"Card", "Media", "Error"}, {"Bus", "Bus", ""}}), "warn: trouble with Card"},
		"no default route":         {routingSection(nil), "warn: no default route"},
		"disks unknown":            {smartSection(nil), "left out"},
		"disk failing":             {smartSection([]smartDisk{{Model: "M", Health: "Unhealthy"}}), "crit: M is unhealthy"},
		"disk predicts":            {smartSection([]smartDisk{{Model: "M", Health: healthy, Predictive: ptr(true)}}), "crit: M predicts its failure"},
		"disk fine":                {smartSection([]smartDisk{{Model: "M", Health: healthy}}), "ok: 1 disk healthy"},
		"no battery":               {batterySection(nil), "left out"},
		"firewall off":             {firewallSection([]profile{{"Public", false}, {"Private", true}}), "warn: firewall off: Public"},
		"no firewall":              {firewallSection(nil), "left out"},
		"system not encrypted":     {encryptionSection([]cryptVolume{{"/", unprotected, 0}, {"/home", protected, 100}}, "/"), "warn: / not encrypted"},
		"system encrypted":         {encryptionSection([]cryptVolume{{"/", protected, 100}, {"/data", unprotected, 0}}, "/"), "ok: / encrypted"},
		"restart":                  {rebootSection([]string{"RebootRequiredFile"}), "warn: restart pending: RebootRequiredFile"},
		"updates":                  {updatesSection([]probe.Package{{}, {}}), "warn: 2 updates available"},
		"up to date":               {updatesSection(nil), "ok: up to date"},
		"29 days up":               {uptimeSection(29*24*time.Hour, 1), "ok: up for 29 days"},
		"30 days up":               {uptimeSection(30*24*time.Hour, 1), "warn: up for 30 days"},
		"clock fine":               {syncSection(clock{true, "ntp", offset(-5)}), "ok: clock synchronised"},
		"clock off":                {syncSection(clock{true, "ntp", offset(-5.1)}), "warn: clock is off by -5.1 s"},
		"clock free":               {syncSection(clock{}), "warn: clock not synchronised"},
		"printer offline":          {printersSection([]printer{{Name: "P", Status: "Offline"}}), "warn: trouble with P"},
		"Wi-Fi weak":               {wifiSection(&wifi{Connected: true, Signal: offset(49)}), "warn: signal 49%"},
		"Wi-Fi good":               {wifiSection(&wifi{Connected: true, Signal: offset(50)}), "ok: signal 50%"},
		"Wi-Fi not connected":      {wifiSection(&wifi{}), "ok: not connected"},
		"no Wi-Fi":                 {wifiSection(nil), "left out"},
		"no thermometers":          {thermalsSection(nil), "left out"},
		"implausible temperatures": {thermalsSection([]sensor{{"a", 0}, {"b", -3}, {"c", 150}, {"d", 700}, {"e", math.NaN()}}), "left out"},
		"plausible among them":     {thermalsSection([]sensor{{"a", 0}, {"cpu", 61.5}, {"c", 255}}), "ok: hottest 61.5 °C (cpu)"},
	} {
		same(t, name, c.want, judged(c.got))
	}
}

func TestSupportEndsAreLookedUp(t *testing.T) {
	now := time.Date(2026, 6, 4, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		s    system
		eol  any
		date any
	}{
		{parseOSRelease("NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\n"), false, "2028-06-30"},
		{system{ID: "debian", Version: "10"}, true, "2024-06-30"},
		{system{ID: "ubuntu", Version: "24.04"}, false, "2029-05-31"},
		{system{ID: "alpine", Version: "3.22.1"}, false, "2027-05-01"},
		{system{ID: "rhel", Version: "9.4"}, false, "2032-05-31"},
		{system{ID: "macos", Version: "13.6.1"}, true, "2025-09-15"},
		{winSystem("Windows 10 Pro", "22H2", "19045", "Client"), true, "2025-10-14"},
		{winSystem("Windows Server 2022 Standard", "21H2", "20348", "Server"), false, "2031-10-14"},
		{system{ID: "debian", Version: "120"}, nil, nil},
		{system{ID: "homemade", Version: "1"}, nil, nil},
	} {
		s, err := supportSection(c.s, now)
		if err != nil {
			t.Fatal(err)
		}
		if s.fields["eol"] != c.eol || s.fields["eol_date"] != c.date {
			t.Errorf("%+v: %v, %v; want s.fields[\"eol\"] to be %v, s.fields[\"eol_date\"] to be %v", c.s, s.fields["eol"], s.fields["eol_date"], c.eol, c.date)
		}
	}
	same(t, "eleven", "Windows 11 Pro", winSystem("Windows 10 Pro", "24H2", "26100", "Client").Name)
}

func TestALinuxMachineIsReadFromItsFiles(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	root := fstest.MapFS{
		"sys/bus/usb/devices/1-1/product": file("Camera"), "sys/bus/usb/devices/1-1/manufacturer": file("Example"),
		"sys/bus/usb/devices/1-1/bDeviceClass": file("0e"), "sys/bus/usb/devices/1-1/authorized": file("1"),
		"sys/bus/usb/devices/1-2/product": file("Stick"), "sys/bus/usb/devices/1-2/authorized": file("0"),
		"sys/bus/usb/devices/usb1/speed":                 file("480"),
		"sys/bus/pci/devices/0000:00:02.0/class":         file("0x030000"),
		"sys/bus/pci/devices/0000:00:02.0/vendor":        file("0x1af4"),
		"sys/bus/pci/devices/0000:00:02.0/device":        file("0x1050"),
		"sys/bus/pci/devices/0000:00:00.0/class":         file("0x060000"),
		"sys/class/power_supply/AC/type":                 file("Mains"),
		"sys/class/power_supply/mouse/type":              file("Battery"),
		"sys/class/power_supply/mouse/scope":             file("Device"),
		"sys/class/power_supply/BAT0/type":               file("Battery"),
		"sys/class/power_supply/BAT0/status":             file("Discharging"),
		"sys/class/power_supply/BAT0/capacity":           file("81"),
		"sys/class/power_supply/BAT0/energy_full":        file("45000000"),
		"sys/class/power_supply/BAT0/energy_full_design": file("60000000"),
		"sys/class/hwmon/hwmon0/name":                    file("coretemp"),
		"sys/class/hwmon/hwmon0/temp1_input":             file("52500"),
		"sys/class/hwmon/hwmon0/temp1_label":             file("Package"),
		"sys/class/hwmon/hwmon0/temp2_input":             file("-128000"),
		"sys/class/block/dm-0/dm/uuid":                   file("LVM-abc"),
		"sys/class/block/dm-0/slaves/dm-1":               file(""),
		"sys/class/block/dm-1/dm/uuid":                   file("CRYPT-LUKS2-def"),
		"sys/class/block/dm-2/dm/uuid":                   file("LVM-ghi"),
		"sys/class/block/dm-2/slaves/sda2":               file(""),
		"run/reboot-required":                            file(""),
		"lib/modules/6.2.0-new/x":                        file(""),
		"boot/vmlinuz-6.2.0-new":                         file(""),
	}
	same(t, "devices", []device{{"Example Camera", "Camera", "OK"}, {"Stick", "USB", "Disabled"}, {"PCI 1af4:1050", "Display", ""}}, sysDevices(root))
	same(t, "battery", &battery{Charge: ptr(81.0), Health: ptr(75.0), State: "Discharging"}, sysBattery(root))
	same(t, "sensors", []sensor{{"coretemp Package", 52.5}, {"coretemp", -128}}, sysSensors(root))
	same(t, "encrypted through LVM", true, encrypted(root, "dm-0"))
	same(t, "plain LVM", false, encrypted(root, "dm-2"))
	same(t, "plain disk", false, encrypted(root, "sda1"))
	same(t, "reasons", []string{"RebootRequiredFile", "KernelReplaced"}, kernelReasons(root, "6.1.0-old"))
	same(t, "no reasons", []string(nil), kernelReasons(fstest.MapFS{"lib/modules/6.1/x": file("")}, "6.1"))
	same(t, "no battery", (*battery)(nil), sysBattery(fstest.MapFS{}))
}

func TestWhatOtherProgramsPrintIsUnderstood(t *testing.T) {
	nvme, _ := parseSmartctl(sample(t, "smartctl_nvme.json"))
	same(t, "NVMe", smartDisk{Model: "Example NVMe 1TB", Health: healthy, Predictive: ptr(false), Wear: ptr(7.0), Temperature: ptr(41.0)}, nvme)
	ata, _ := parseSmartctl(sample(t, "smartctl_ata.json"))
	same(t, "ATA", smartDisk{Model: "Example HDD", Health: "Unhealthy", Predictive: ptr(true), Temperature: ptr(39.0), Reallocated: ptr(int64(24))}, ata)
	if _, ok := parseSmartctl([]byte(`{"model_name":"virtual"}`)); ok {
		t.Error("a disk that tells nothing counts")
	}
	same(t, "scan", []string{"/dev/sda", "/dev/nvme0"}, parseSmartScan([]byte(`{"devices":[{"name":"/dev/sda"},{"name":"/dev/nvme0"}]}`)))
	same(t, "apt", []probe.Package{
		{ID: "libexample1", Name: "libexample1", Version: "1.2.3-1", Available: "1.2.4-1"}, {ID: "tool", Name: "tool", Version: "2:1.0", Available: "2:1.1"},
	}, parseApt(string(sample(t, "apt.txt"))))
	same(t, "dnf", []probe.Package{{ID: "vim.x86_64", Name: "vim", Available: "9.1-2"}}, parseDnf("Available Upgrades\nvim.x86_64   9.1-2   updates\n"))
	same(t, "pacman", []probe.Package{{ID: "vim", Name: "vim", Version: "9.0", Available: "9.1"}}, parsePacman("vim 9.0 -> 9.1\n"))
	same(t, "zypper", []probe.Package{{ID: "vim", Name: "vim", Version: "9.0", Available: "9.1"}}, parseZypper(string(sample(t, "zypper.xml"))))
	brew, err := parseBrew(sample(t, "brew.json"))
	same(t, "brew", []probe.Package{{ID: "jq", Name: "jq", Version: "1.6", Available: "1.7"}, {ID: "viewer", Name: "viewer", Version: "3", Available: "4"}}, brew)
	if err != nil {
		t.Error(err)
	}
	same(t, "CUPS", []printer{{"Office", "Idle", true, 2}, {"Old-Laser", "Offline", false, 1}}, parseLpstat(string(sample(t, "lpstat.txt")), string(sample(t, "lpjobs.txt"))))
	source, offset, _ := parseChrony("C0000235,ntp.example.org,2,1780596000.1,0.000012,-0.0001\n")
	same(t, "chrony", []any{"ntp.example.org", 0.000012}, []any{source, offset})
	source, offset, _ = parseSntp("+0.012345 +/- 0.034567 time.example.org 192.0.2.123\n")
	same(t, "sntp", []any{"time.example.org", 0.012345}, []any{source, offset})
	off, _ := parseStripchart("Tracking time.example.org [192.0.2.1:123].\nCollecting 1 samples.\n18:00:00, +00.0123456s\n")
	same(t, "w32tm", 0.0123456, off)
	synced, _ := parseTimedatectl("Timezone=UTC\nNTPSynchronized=yes\n")
	same(t, "timedatectl", true, synced)
	on, _ := parseUfw("Status: active\n\nTo  Action\n")
	same(t, "ufw", true, on)
	same(t, "nft", []bool{true, false}, []bool{parseNft("chain in { type filter hook input priority 0; policy drop; }"), parseNft("table inet x { }")})
	same(t, "netsh", &wifi{true, "Studio", ptr(84.0), "5 GHz"}, parseNetsh(string(sample(t, "netsh.txt"))))
	same(t, "netsh, translated", &wifi{true, "Werkstatt", ptr(41.0), ""}, parseNetsh(string(sample(t, "netsh_de.txt"))))
	same(t, "iw", &wifi{true, "Studio", ptr(90.0), "5 GHz"}, parseIwLink("Connected to 02:00:00:00:00:99 (on wlan0)\n\tSSID: Studio\n\tfreq: 5220.0\n\tsignal: -55 dBm\n"))
	same(t, "iw, not connected", &wifi{}, parseIwLink("Not connected.\n"))
	name, dbm, _ := parseWireless("Inter-| sta-|   Quality        |\n face | tus | link level noise |\n wlan0: 0000   54.  -56.  -256        0\n")
	same(t, "wireless", []any{"wlan0", -56.0}, []any{name, dbm})
	same(t, "FileVault", cryptVolume{"/", protected, 100}, parseFileVault("FileVault is On.\n"))
	same(t, "ALF", []bool{true, false}, []bool{parseALF("Firewall is enabled. (State = 1)"), parseALF("Firewall is disabled. (State = 0)")})
	disk, _ := macSmart(map[string]any{"SMARTStatus": "Verified", "MediaName": "APPLE SSD"})
	same(t, "diskutil", smartDisk{Model: "APPLE SSD", Health: healthy, Predictive: ptr(false)}, disk)
}

func TestAMacIsReadFromItsProfiler(t *testing.T) {
	lists, err := parseProfiler(sample(t, "profiler.json"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "devices", []device{{"USB31Bus", "USB", "OK"}, {"Example Camera", "USB", "OK"}, {"Hub part", "USB", "OK"}}, macDevices(lists))
	same(t, "battery", &battery{Charge: ptr(64.0), Health: ptr(88.0), State: "Charging"}, macBattery(lists["SPPowerDataType"]))
	same(t, "Wi-Fi", &wifi{true, "Studio", ptr(90.0), "5 GHz"}, macWifi(lists["SPAirPortDataType"]))
}

// TestWindowsSectionsFromThePowerShellFeed holds every snippet to a sample of
// its answer.
func TestWindowsSectionsFromThePowerShellFeed(t *testing.T) {
	lines := map[string]feedLine{}
	for line := range bytes.Lines(sample(t, "feed.jsonl")) {
		l, err := parseFeedLine(line)
		if err != nil {
			t.Fatal(err)
		}
		lines[l.Section] = l
	}
	if !lines["x"].Denied {
		t.Error("a refusal is not told")
	}
	makers := map[string]func(json.RawMessage, time.Time) (*section, error){
		"routing": winRouting, "peripherals": winPeripherals, "defender": winDefender, "win_update": winUpdates, "disk_smart": winSmart,
		"battery": winBattery, "thermals": winThermals, "firewall": winFirewall, "av_thirdparty": winAntivirus,
		"defender_quarantine": winQuarantine, "reliability": winReliability, "printers": winPrinters,
		"encryption": func(raw json.RawMessage, _ time.Time) (*section, error) { return winEncryption(raw, "C:") },
	}
	want := map[string]string{
		"routing": "ok: default route through Ethernet", "peripherals": "warn: trouble with Odd Card", "defender": "crit: real-time protection is off",
		"win_update": "warn: 1 update failed", "disk_smart": "crit: Example HDD is warning", "battery": "ok: 55% charged, health 70%",
		"thermals": "ok: hottest 48 °C (ACPI\\ThermalZone\\TZ00_0)", "firewall": "warn: firewall off: Public", "encryption": "ok: C: encrypted",
		"av_thirdparty": "warn: out of date: Example AV", "defender_quarantine": "warn: 1 item in quarantine",
		"reliability": "ok: 2 crash events in 7 days", "printers": "warn: trouble with Old",
	}
	for name := range winSnippets {
		if name == "autostart" {
			continue // joined with the registry's, on Windows
		}
		s, err := makers[name](lines[name].Data, time.Time{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name, want[name], judged(s))
		raw, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		m := decode(t, raw)
		for _, f := range fields[name] {
			if _, ok := m[f]; !ok {
				t.Errorf("%s has no %q", name, f)
			}
		}
	}
	s, _ := winUpdates(lines["win_update"].Data, time.Time{})
	raw, _ := s.encode()
	if m := decode(t, raw); len(m["recent"].([]any)) != 2 {
		t.Errorf("%v; want len(m[\"recent\"].([]any)) to be 2", m["recent"])
	}
}

func TestTheScriptHoldsTheWantedSections(t *testing.T) {
	script := winScript([]string{"battery", "no_such", "disk"})
	if !bytes.Contains([]byte(script), []byte("Emit 'battery' {")) || bytes.Contains([]byte(script), []byte("no_such")) || bytes.Contains([]byte(script), []byte("Emit 'disk'")) {
		t.Error(script)
	}
}

func FuzzFeedLine(f *testing.F) {
	f.Add([]byte(`{"section":"defender","data":{"enabled":true}}`))
	f.Fuzz(func(_ *testing.T, line []byte) {
		l, err := parseFeedLine(line)
		if err != nil {
			return
		}
		_, _ = winDefender(l.Data, time.Time{})
		_, _ = winUpdates(l.Data, time.Time{})
		_, _ = winBattery(l.Data, time.Time{})
	})
}

func TestLargeFoldersAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"small": 10, "large": 5000, "middle": 700} {
		if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "sub", "f"), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	top := &topDirs{}
	top.search(t.Context(), []string{dir + "/small", dir + "/large", dir + "/middle", dir + "/none"})
	same(t, "folders", []dirSize{{dir + "/large", 5000}, {dir + "/middle", 700}, {dir + "/small", 10}}, top.latest())
}
