package collect

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"parley.internal/internal/endpoint/probe"
)

// smartctlReport is what we need of `smartctl --json`.
type smartctlReport struct {
	Model  string `json:"model_name"`
	Status *struct {
		Passed bool `json:"passed"`
	} `json:"smart_status"`
	Temperature *struct {
		Current float64 `json:"current"`
	} `json:"temperature"`
	NVMe *struct {
		Used     float64 `json:"percentage_used"`
		Critical int     `json:"critical_warning"`
	} `json:"nvme_smart_health_information_log"`
	ATA struct {
		Table []struct {
			ID         int    `json:"id"`
			Value      int    `json:"value"`
			WhenFailed string `json:"when_failed"`
			Raw        struct {
				Value int64 `json:"value"`
			} `json:"raw"`
		} `json:"table"`
	} `json:"ata_smart_attributes"`
}

// parseSmartctl reads one drive; ok is false when it tells nothing.
func parseSmartctl(data []byte) (smartDisk, bool) {
	var r smartctlReport
	if json.Unmarshal(data, &r) != nil || r.Status == nil {
		return smartDisk{}, false
	}
	d := smartDisk{Model: r.Model, Health: healthy, Predictive: ptr(!r.Status.Passed)}
	if !r.Status.Passed {
		d.Health = "Unhealthy"
	}
	if r.Temperature != nil {
		d.Temperature = &r.Temperature.Current
	}
	if r.NVMe != nil {
		d.Wear = &r.NVMe.Used
		if r.NVMe.Critical != 0 {
			d.Health = "Warning"
		}
	}
	for _, a := range r.ATA.Table {
		switch a.ID {
		case 5:
			d.Reallocated = ptr(a.Raw.Value)
		case 177, 231, 233: // wear levelling, life left: what remains of 100
			d.Wear = ptr(float64(max(0, 100-a.Value)))
		}
	}
	return d, true
}

// parseSmartScan reads `smartctl --scan --json`.
func parseSmartScan(data []byte) []string {
	var r struct {
		Devices []struct {
			Name string `json:"name"`
		} `json:"devices"`
	}
	if json.Unmarshal(data, &r) != nil {
		return nil
	}
	var out []string
	for _, d := range r.Devices {
		out = append(out, d.Name)
	}
	return out
}

// parseUfw reads `ufw status`.
func parseUfw(text string) (enabled, ok bool) {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "Status:"); found {
			return strings.TrimSpace(value) == "active", true
		}
	}
	return false, false
}

// parseNft reports whether a rule set holds any filter that can refuse.
func parseNft(text string) bool {
	return strings.Contains(text, "hook input") && (strings.Contains(text, "drop") || strings.Contains(text, "reject"))
}

var aptLine = regexp.MustCompile(`^Inst (\S+) (?:\[([^\]]*)\] )?\((\S+)`)

// parseApt reads `apt-get --simulate upgrade`.
func parseApt(text string) []probe.Package {
	var out []probe.Package
	for line := range strings.Lines(text) {
		if m := aptLine.FindStringSubmatch(line); m != nil && m[2] != "" {
			out = append(out, probe.Package{ID: m[1], Name: m[1], Version: m[2], Available: m[3]})
		}
	}
	return out
}

// parseDnf reads `dnf -C list --upgrades`: name.arch, version, repository.
func parseDnf(text string) []probe.Package {
	var out []probe.Package
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.Contains(f[0], ".") {
			continue // a heading
		}
		name := f[0][:strings.LastIndexByte(f[0], '.')]
		out = append(out, probe.Package{ID: f[0], Name: name, Available: f[1]})
	}
	return out
}

// parsePacman reads `pacman -Qu`: name, version -> newer.
func parsePacman(text string) []probe.Package {
	var out []probe.Package
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 4 && f[2] == "->" {
			out = append(out, probe.Package{ID: f[0], Name: f[0], Version: f[1], Available: f[3]})
		}
	}
	return out
}

var zypperUpdate = regexp.MustCompile(`<update\s[^>]*>`)

// parseZypper reads `zypper --xmlout list-updates`.
func parseZypper(text string) []probe.Package {
	var out []probe.Package
	for _, tag := range zypperUpdate.FindAllString(text, -1) {
		name := attribute(tag, "name")
		out = append(out, probe.Package{ID: name, Name: name, Version: attribute(tag, "edition-old"), Available: attribute(tag, "edition")})
	}
	return out
}

func attribute(tag, name string) string {
	_, rest, ok := strings.Cut(tag, " "+name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// parseBrew reads `brew outdated --json=v2`.
func parseBrew(data []byte) ([]probe.Package, error) {
	type item struct {
		Name      string   `json:"name"`
		Installed []string `json:"installed_versions"`
		Current   string   `json:"current_version"`
	}
	var r struct {
		Formulae []item `json:"formulae"`
		Casks    []item `json:"casks"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	var out []probe.Package
	for _, i := range append(r.Formulae, r.Casks...) {
		out = append(out, probe.Package{ID: i.Name, Name: i.Name, Version: strings.Join(i.Installed, ", "), Available: i.Current})
	}
	return out, nil
}

// parseLpstat reads `lpstat -p -d` and `lpstat -o` in the C locale.
func parseLpstat(status, jobs string) []printer {
	var out []printer
	def := ""
	for line := range strings.Lines(status) {
		f := strings.Fields(line)
		if len(f) >= 4 && f[0] == "printer" {
			out = append(out, printer{Name: f[1], Status: lpStatus(line)})
		}
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "system default destination:"); ok {
			def = strings.TrimSpace(value)
		}
	}
	for i := range out {
		out[i].IsDefault = out[i].Name == def
		for line := range strings.Lines(jobs) {
			if id, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(id, out[i].Name+"-") {
				if _, err := strconv.Atoi(id[len(out[i].Name)+1:]); err == nil {
					out[i].Jobs++
				}
			}
		}
	}
	return out
}

func lpStatus(line string) string {
	switch {
	case strings.Contains(line, "disabled"):
		return "Offline"
	case strings.Contains(line, "now printing"):
		return "Printing"
	case strings.Contains(line, "is idle"):
		return "Idle"
	}
	return "Unknown"
}

// parseTimedatectl reads `timedatectl show`.
func parseTimedatectl(text string) (synchronized, ok bool) {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "NTPSynchronized="); found {
			return value == "yes", true
		}
	}
	return false, false
}

// parseChrony reads `chronyc -c tracking`: the source's name and our offset.
func parseChrony(text string) (source string, offset float64, ok bool) {
	f := strings.Split(strings.TrimSpace(text), ",")
	if len(f) < 5 {
		return "", 0, false
	}
	offset, err := strconv.ParseFloat(f[4], 64)
	return f[1], offset, err == nil && f[1] != ""
}

// parseSntp reads macOS' sntp: "+0.012 +/- 0.034 time.apple.com 17.2.3.4".
func parseSntp(text string) (source string, offset float64, ok bool) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) >= 4 && f[1] == "+/-" {
			n, err := strconv.ParseFloat(f[0], 64)
			return f[3], n, err == nil
		}
	}
	return "", 0, false
}

// parseNetsh reads `netsh wlan show interfaces`. Its words are translated; SSID
// is not, and the signal is the line that ends in a percent sign.
func parseNetsh(text string) *wifi {
	var w *wifi
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, " : ")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if w == nil {
			w = &wifi{}
		}
		switch {
		case key == "SSID":
			w.SSID, w.Connected = value, true
		case strings.HasSuffix(value, "%"):
			if n, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64); err == nil {
				w.Signal = &n
			}
		case strings.HasSuffix(value, "GHz"):
			w.Band = value
		}
	}
	return w
}
