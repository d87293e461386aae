package health

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/protocol/kenny"
)

// rule judges one section. An empty status means it has nothing to say.
type rule func(raw jsontext.Value, now time.Time) (status kenny.Status, reason string)

// ruleFor finds the rule of a section. What only Windows measures the same way
// is left to the machine elsewhere.
func ruleFor(os kenny.OS, section string) (rule, bool) {
	switch section {
	case "disk":
		return disk, true
	case "battery":
		return battery, true
	case "memory":
		return memory, true
	case "thermals":
		return thermals, true
	case "os_support":
		return osSupport, true
	case "reliability":
		return reliability, true
	}
	if os != kenny.Windows {
		return nil, false
	}
	switch section {
	case "defender":
		return defender, true
	case "win_update":
		return winUpdate, true
	case "reboot_pending":
		return rebootPending, true
	}
	return nil, false
}

const (
	ok   = kenny.StatusOK
	warn = kenny.StatusWarn
	crit = kenny.StatusCrit
)

func disk(raw jsontext.Value, _ time.Time) (kenny.Status, string) {
	fullest, mount, found := 0.0, "", false
	for _, v := range members(raw).list("volumes") {
		if p, has := v.number("percent_used"); has && (!found || p > fullest) {
			fullest, found = p, true
			mount, _ = v.text("mount")
		}
	}
	reason := fmt.Sprintf("%s is %s %% full", orElse(mount, "a volume"), short(fullest))
	switch {
	case !found:
		return "", ""
	case fullest >= thresholds.diskCrit:
		return crit, reason
	case fullest > thresholds.diskWarn:
		return warn, reason
	}
	return ok, ""
}

func defender(raw jsontext.Value, now time.Time) (kenny.Status, string) {
	m := members(raw)
	enabled, hasEnabled := m.flag("enabled")
	realtime, hasRealtime := m.flag("realtime_protection")
	scan, hasScan := m.time("last_scan")
	switch {
	case !hasEnabled && !hasRealtime:
		return "", ""
	case hasEnabled && !enabled:
		return crit, "Defender is off"
	case hasRealtime && !realtime:
		return crit, "real-time protection is off"
	case hasScan && now.Sub(scan) > thresholds.scanAge:
		return warn, fmt.Sprintf("last virus scan %d days ago", int(now.Sub(scan).Hours()/24))
	}
	return ok, ""
}

func winUpdate(raw jsontext.Value, _ time.Time) (kenny.Status, string) {
	failed, which := 0, ""
	for _, u := range members(raw).list("recent") {
		if result, _ := u.text("result"); strings.EqualFold(result, "failed") {
			failed++
			which, _ = u.text("kb")
		}
	}
	switch failed {
	case 0:
		return ok, ""
	case 1:
		return warn, strings.TrimSpace("an update failed " + which)
	}
	return warn, fmt.Sprintf("%d updates failed", failed)
}

func rebootPending(raw jsontext.Value, _ time.Time) (kenny.Status, string) {
	m := members(raw)
	if pending, _ := m.flag("pending"); !pending {
		return ok, ""
	}
	if reasons := m.texts("reasons"); len(reasons) > 0 {
		return warn, "reboot pending: " + strings.Join(reasons, ", ")
	}
	return warn, "reboot pending"
}

func battery(raw jsontext.Value, _ time.Time) (kenny.Status, string) {
	health, has := members(raw).number("health_percent")
	reason := fmt.Sprintf("battery health %s %%", short(health))
	switch {
	case !has:
		return "", ""
	case health < thresholds.batteryCrit:
		return crit, reason
	case health < thresholds.batteryWarn:
		return warn, reason
	}
	return "", ""
}

func memory(raw jsontext.Value, _ time.Time) (kenny.Status, string) {
	used, has := members(raw).number("percent_used")
	reason := fmt.Sprintf("memory %s %% used", short(used))
	switch {
	case !has:
		return "", ""
	case used > thresholds.memoryCrit:
		return crit, reason
	case used > thresholds.memoryWarn:
		return warn, reason
	}
	return ok, ""
}

func thermals(raw jsontext.Value, _ time.Time) (kenny.Status, string) {
	hottest, label, found := 0.0, "", false
	for _, s := range members(raw).list("sensors") {
		if t, has := s.number("temperature_c"); has && (!found || t > hottest) {
			hottest, found = t, true
			label, _ = s.text("label")
		}
	}
	reason := fmt.Sprintf("%s at %s °C", orElse(label, "a sensor"), short(hottest))
	switch {
	case !found:
		return "", ""
	case hottest >= thresholds.thermalsCrit:
		return crit, reason
	case hottest >= thresholds.thermalsWarn:
		return warn, reason
	}
	return ok, ""
}

func osSupport(raw jsontext.Value, now time.Time) (kenny.Status, string) {
	m := members(raw)
	eol, _ := m.flag("eol")
	date, has := m.time("eol_date")
	switch {
	case eol, has && date.Before(now):
		return crit, "the operating system is out of support"
	case has && date.Sub(now) <= thresholds.supportWarn:
		return warn, "support of the operating system ends on " + date.Format(time.DateOnly)
	}
	return "", ""
}

func reliability(raw jsontext.Value, _ time.Time) (kenny.Status, string) {
	m := members(raw)
	index, hasIndex := m.number("stability_index")
	crashes, hasCrashes := m.number("recent_crashes")
	below := func(limit float64) bool { return hasIndex && index < limit }
	from := func(limit float64) bool { return hasCrashes && crashes >= limit }
	var status kenny.Status
	switch {
	case !hasIndex && !hasCrashes:
		return "", ""
	case below(thresholds.stabilityCrit), from(thresholds.crashesCrit):
		status = crit
	case below(thresholds.stabilityWarn), from(thresholds.crashesWarn):
		status = warn
	default:
		return ok, ""
	}
	if from(thresholds.crashesWarn) {
		return status, short(crashes) + " crashes lately"
	}
	return status, "stability index " + short(index)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// short spells a measured number without needless digits.
func short(f float64) string {
	s := strconv.FormatFloat(f, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}
