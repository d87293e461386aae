package collect

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/endpoint/probe"
	wire "parley.internal/protocol/kenny"
)

// The functions here make sections of what PowerShell answered.

// winItems reads the list of an answer.
func winItems[T any](raw json.RawMessage) ([]T, error) {
	var answer struct {
		Items []T `json:"items"`
	}
	err := json.Unmarshal(raw, &answer)
	return answer.Items, err
}

func winRouting(raw json.RawMessage, _ time.Time) (*section, error) {
	routes, err := winItems[probe.Route](raw)
	return routingSection(routes), err
}

func winPeripherals(raw json.RawMessage, _ time.Time) (*section, error) {
	devices, err := winItems[device](raw)
	return peripheralsSection(devices), err
}

func winDefender(raw json.RawMessage, _ time.Time) (*section, error) {
	var d struct {
		Enabled   *bool   `json:"enabled"`
		Realtime  *bool   `json:"realtime"`
		Quick     *string `json:"quick"`
		Full      *string `json:"full"`
		Signature *string `json:"signature"`
		Threats   int     `json:"threats"`
		Reboot    bool    `json:"reboot"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	scan, kind := lastScan(d.Quick, d.Full)
	off := d.Enabled != nil && !*d.Enabled || d.Realtime != nil && !*d.Realtime
	s := ok("Defender is on", map[string]any{
		"enabled": d.Enabled, "realtime_protection": d.Realtime, "last_scan": scan, "last_scan_type": kind,
		"last_signature_update": d.Signature, "threats_found": d.Threats, "action_needed": off || d.Threats > 0 || d.Reboot,
	})
	switch {
	case off:
		s.status, s.summary = wire.StatusCrit, "Defender is off"
		if d.Enabled != nil && *d.Enabled {
			s.summary = "real-time protection is off"
		}
	case d.Threats > 0:
		s.status, s.summary = wire.StatusWarn, count(d.Threats, "active threat")
	case d.Enabled == nil:
		s.status, s.summary = wire.StatusWarn, "Defender's state cannot be read"
	}
	return s, nil
}

// lastScan is the younger of both scans; their times are spelled so that they
// sort.
func lastScan(quick, full *string) (*string, string) {
	switch {
	case quick == nil && full == nil:
		return nil, "unknown"
	case full == nil || quick != nil && *quick >= *full:
		return quick, "quick"
	}
	return full, "full"
}

var kbNumber = regexp.MustCompile(`KB\d+`)

func winUpdates(raw json.RawMessage, _ time.Time) (*section, error) {
	type update struct {
		KB          string  `json:"kb"`
		Title       string  `json:"title"`
		Result      string  `json:"result"`
		InstalledAt *string `json:"installed_at"`
	}
	var d struct {
		LastCheck *string `json:"last_check"`
		Items     []struct {
			Title  string  `json:"title"`
			Result int     `json:"result"`
			Date   *string `json:"date"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	recent, failed := []update{}, 0
	for _, i := range d.Items {
		u := update{KB: kbNumber.FindString(i.Title), Title: i.Title, Result: "failed", InstalledAt: i.Date}
		switch i.Result {
		case 2, 3: // succeeded, with or without remarks
			u.Result = "succeeded"
		case 4, 5: // failed, aborted
			failed++
		default:
			continue // has not ended
		}
		recent = append(recent, u)
	}
	summary := count(len(recent), "recent update")
	if failed > 0 {
		summary = count(failed, "update") + " failed"
	}
	return graded(failed > 0, summary, map[string]any{"last_check": d.LastCheck, "recent": recent}), nil
}

func winSmart(raw json.RawMessage, _ time.Time) (*section, error) {
	var d struct {
		Predicted bool `json:"predicted"`
		Items     []struct {
			Model       string   `json:"model"`
			Health      string   `json:"health"`
			Wear        *float64 `json:"wear"`
			Temperature *float64 `json:"temperature"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	var disks []smartDisk
	for _, i := range d.Items {
		// The prediction names no drive we could match; one bad drive among
		// several is every drive's matter.
		disks = append(disks, smartDisk{Model: i.Model, Health: i.Health, Predictive: ptr(d.Predicted), Wear: i.Wear, Temperature: plausible(i.Temperature)})
	}
	return smartSection(disks), nil
}

// plausible drops the zero some drives answer.
func plausible(t *float64) *float64 {
	if t == nil || *t <= 0 || *t >= 150 {
		return nil
	}
	return t
}

func winBattery(raw json.RawMessage, _ time.Time) (*section, error) {
	var d struct {
		Full   *float64 `json:"full"`
		Design *float64 `json:"design"`
		Items  []struct {
			Charge *float64 `json:"charge"`
			State  int      `json:"state"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &d); err != nil || len(d.Items) == 0 {
		return nil, err
	}
	b := &battery{Charge: d.Items[0].Charge, State: batteryState(d.Items[0].State)}
	if d.Full != nil && d.Design != nil && *d.Design > 0 {
		b.Health = ptr(min(100, float64(int(*d.Full / *d.Design * 1000))/10))
	}
	return batterySection(b), nil
}

func batteryState(n int) string {
	switch n {
	case 1, 4, 5:
		return "Discharging"
	case 3:
		return "Full"
	case 6, 7, 8, 9:
		return "Charging"
	}
	return "On AC"
}

func winThermals(raw json.RawMessage, _ time.Time) (*section, error) {
	type zone struct {
		Label  string  `json:"label"`
		Tenths float64 `json:"tenths"` // of a kelvin
	}
	zones, err := winItems[zone](raw)
	var sensors []sensor
	for _, z := range zones {
		sensors = append(sensors, sensor{z.Label, float64(int(z.Tenths-2731.5)) / 10})
	}
	return thermalsSection(sensors), err
}

func winFirewall(raw json.RawMessage, _ time.Time) (*section, error) {
	profiles, err := winItems[profile](raw)
	return firewallSection(profiles), err
}

func winEncryption(raw json.RawMessage, system string) (*section, error) {
	type volume struct {
		Mount      string  `json:"mount"`
		Protection int     `json:"protection"`
		Percent    float64 `json:"percent"`
	}
	list, err := winItems[volume](raw)
	var volumes []cryptVolume
	for _, v := range list {
		volumes = append(volumes, cryptVolume(v))
	}
	return encryptionSection(volumes, system), err
}

// winAntivirus leaves out Windows' own, which has a section of its own.
func winAntivirus(raw json.RawMessage, _ time.Time) (*section, error) {
	type product struct {
		Name     string `json:"name"`
		State    string `json:"state"`
		UpToDate bool   `json:"up_to_date"`
	}
	type answer struct {
		Name  string `json:"name"`
		State int    `json:"state"`
	}
	list, err := winItems[answer](raw)
	products, stale := []product{}, []string{}
	for _, a := range list {
		if strings.Contains(a.Name, "Windows Defender") || strings.Contains(a.Name, "Microsoft Defender") {
			continue
		}
		// The security centre packs it into bits: the second byte tells
		// whether it is on, the lowest whether signatures are old.
		p := product{Name: a.Name, State: "off", UpToDate: a.State&0x10 == 0}
		if a.State&0x1000 != 0 {
			p.State = "on"
		}
		if !p.UpToDate {
			stale = append(stale, p.Name)
		}
		products = append(products, p)
	}
	if err != nil || len(products) == 0 {
		return nil, err
	}
	summary := count(len(products), "product")
	if len(stale) > 0 {
		summary = "out of date: " + some(stale)
	}
	return graded(len(stale) > 0, summary, map[string]any{"products": products}), nil
}

func winQuarantine(raw json.RawMessage, _ time.Time) (*section, error) {
	type item struct {
		Name       string  `json:"name"`
		Severity   string  `json:"severity"`
		DetectedAt *string `json:"detected_at"`
	}
	type answer struct {
		Name       string  `json:"name"`
		Severity   int     `json:"severity"`
		DetectedAt *string `json:"detected_at"`
	}
	list, err := winItems[answer](raw)
	items := []item{}
	for _, a := range list {
		items = append(items, item{a.Name, severity(a.Severity), a.DetectedAt})
	}
	summary := "quarantine is empty"
	if len(items) > 0 {
		summary = count(len(items), "item") + " in quarantine"
	}
	return graded(len(items) > 0, summary, map[string]any{"items": items}), err
}

func severity(n int) string {
	switch n {
	case 1:
		return "low"
	case 2:
		return "moderate"
	case 4:
		return "high"
	case 5:
		return "severe"
	}
	return "unknown"
}

func winReliability(raw json.RawMessage, _ time.Time) (*section, error) {
	var d struct {
		Index   *float64 `json:"index"`
		Crashes int      `json:"crashes"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	return reliabilitySection(d.Index, d.Crashes), nil
}

func winPrinters(raw json.RawMessage, _ time.Time) (*section, error) {
	type answer struct {
		Name    string `json:"name"`
		Status  int    `json:"status"`
		Error   int    `json:"error"`
		Offline bool   `json:"offline"`
		Default bool   `json:"default"`
		Jobs    int    `json:"jobs"`
	}
	list, err := winItems[answer](raw)
	var printers []printer
	for _, a := range list {
		printers = append(printers, printer{Name: a.Name, Status: printerStatus(a.Status, a.Error, a.Offline), IsDefault: a.Default, Jobs: a.Jobs})
	}
	return printersSection(printers), err
}

func printerStatus(status, fault int, offline bool) string {
	switch {
	case offline || status == 7:
		return "Offline"
	case fault > 2 || status == 6: // low paper or toner is no error yet
		return "Error"
	case status == 4:
		return "Printing"
	case status == 3:
		return "Idle"
	}
	return "Unknown"
}

// parseStripchart reads `w32tm /stripchart /dataonly`: lines of time, offset.
func parseStripchart(text string) (float64, bool) {
	found, ok := 0.0, false
	for line := range strings.Lines(text) {
		_, value, has := strings.Cut(strings.TrimSpace(line), ", ")
		if !has {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSuffix(value, "s"), 64)
		if err == nil && strings.HasSuffix(value, "s") {
			found, ok = n, true
		}
	}
	return found, ok
}

// winSystem is the row of the support table for what the registry says.
func winSystem(product, display, build, kind string) system {
	s := system{ID: "windows", Name: product, Version: display, Build: build}
	if kind == "Server" {
		s.ID = "windows-server"
	}
	if n, err := strconv.Atoi(build); err == nil && n >= 22000 && s.ID == "windows" {
		s.Name = strings.Replace(product, "Windows 10", "Windows 11", 1) // the registry never learned
	}
	return s
}

// feedLine is one line of the feed.
type feedLine struct {
	Section string          `json:"section"`
	Data    json.RawMessage `json:"data"`
	Error   string          `json:"error"`
	Denied  bool            `json:"denied"`
}

func parseFeedLine(line []byte) (feedLine, error) {
	var l feedLine
	if err := json.Unmarshal(line, &l); err != nil {
		return l, err
	}
	if l.Section == "" {
		return l, fmt.Errorf("a line without a section")
	}
	return l, nil
}
