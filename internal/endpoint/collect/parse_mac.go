package collect

import (
	"encoding/json"
	"strconv"
	"strings"
)

// profilerItem is an entry of `system_profiler -json`; entries nest.
type profilerItem = map[string]any

// parseProfiler reads the lists of system_profiler's answer, nested entries
// made flat.
func parseProfiler(data []byte) (map[string][]profilerItem, error) {
	var raw map[string][]profilerItem
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	out := map[string][]profilerItem{}
	for kind, list := range raw {
		for _, item := range list {
			out[kind] = append(out[kind], flatten(item, 0)...)
		}
	}
	return out, nil
}

func flatten(item profilerItem, depth int) []profilerItem {
	out := []profilerItem{item}
	nested, _ := item["_items"].([]any)
	if depth > 16 {
		return out
	}
	for _, n := range nested {
		if m, ok := n.(profilerItem); ok {
			out = append(out, flatten(m, depth+1)...)
		}
	}
	return out
}

func str(item profilerItem, key string) string {
	s, _ := item[key].(string)
	return s
}

// macDevices makes devices of the USB, Bluetooth, display and audio lists.
func macDevices(lists map[string][]profilerItem) []device {
	classes := [][2]string{{"SPUSBDataType", "USB"}, {"SPUSBHostDataType", "USB"}, {"SPDisplaysDataType", "Display"}, {"SPAudioDataType", "Audio"}, {"SPCameraDataType", "Camera"}}
	var out []device
	for _, c := range classes {
		for _, item := range lists[c[0]] {
			if name := str(item, "_name"); name != "" {
				out = append(out, device{Name: name, Class: c[1], Status: "OK"})
			}
		}
	}
	return out
}

// macBattery reads SPPowerDataType; nil without a battery.
func macBattery(list []profilerItem) *battery {
	for _, item := range list {
		health, ok := item["sppower_battery_health_info"].(profilerItem)
		if !ok {
			continue
		}
		b := &battery{State: "Discharging"}
		if n, ok := percentOf(health["sppower_battery_health_maximum_capacity"]); ok {
			b.Health = &n
		}
		if charge, ok := item["sppower_battery_charge_info"].(profilerItem); ok {
			if n, ok := percentOf(charge["sppower_battery_state_of_charge"]); ok {
				b.Charge = &n
			}
			switch {
			case str(charge, "sppower_battery_fully_charged") == "TRUE":
				b.State = "Full"
			case str(charge, "sppower_battery_is_charging") == "TRUE":
				b.State = "Charging"
			}
		}
		return b
	}
	return nil
}

// percentOf reads 87, "87" and "87%".
func percentOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(v), "%"), 64)
		return n, err == nil
	}
	return 0, false
}

// macWifi reads SPAirPortDataType; nil without Wi-Fi.
func macWifi(list []profilerItem) *wifi {
	for _, item := range list {
		interfaces, _ := item["spairport_airport_interfaces"].([]any)
		for _, i := range interfaces {
			iface, ok := i.(profilerItem)
			if !ok || str(iface, "_name") == "awdl0" {
				continue
			}
			w := &wifi{}
			if current, ok := iface["spairport_current_network_information"].(profilerItem); ok {
				w.Connected, w.SSID = true, str(current, "_name")
				w.Band = macBand(str(current, "spairport_network_channel"))
				if f := strings.Fields(str(current, "spairport_signal_noise")); len(f) > 0 {
					if dbm, err := strconv.ParseFloat(f[0], 64); err == nil {
						w.Signal = ptr(quality(dbm))
					}
				}
			}
			return w
		}
	}
	return nil
}

// macBand takes the band out of "44 (5GHz, 80MHz)".
func macBand(channel string) string {
	for _, band := range []string{"2", "5", "6"} {
		if strings.Contains(channel, "("+band+"GHz") {
			return map[string]string{"2": "2.4 GHz", "5": "5 GHz", "6": "6 GHz"}[band]
		}
	}
	return ""
}

// parseALF reads `socketfilterfw --getglobalstate`.
func parseALF(text string) bool {
	return strings.Contains(text, "State = 1") || strings.Contains(text, "State = 2")
}

// parseFileVault reads `fdesetup status`.
func parseFileVault(text string) cryptVolume {
	v := cryptVolume{Mount: "/", Protection: unprotected}
	switch {
	case strings.Contains(text, "FileVault is On"):
		v.Protection, v.Percent = protected, 100
	case strings.Contains(text, "Percent completed"):
		_, rest, _ := strings.Cut(text, "=")
		if f := strings.Fields(rest); len(f) > 0 {
			v.Percent, _ = strconv.ParseFloat(strings.TrimSuffix(f[0], "%"), 64)
		}
	case !strings.Contains(text, "FileVault is Off"):
		v.Protection = unknown
	}
	return v
}

// macSmart reads the property list of `diskutil info -plist DISK`.
func macSmart(p map[string]any) (smartDisk, bool) {
	status, _ := p["SMARTStatus"].(string)
	model, _ := p["MediaName"].(string)
	switch status {
	case "Verified":
		return smartDisk{Model: model, Health: healthy, Predictive: ptr(false)}, true
	case "Failing":
		return smartDisk{Model: model, Health: "Unhealthy", Predictive: ptr(true)}, true
	}
	return smartDisk{}, false // the drive does not tell
}
