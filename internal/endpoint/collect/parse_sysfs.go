package collect

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The functions here read /sys and /proc through an fs.FS, so that they can be
// tried with made-up machines.

func text(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func number(root fs.FS, name string) (float64, bool) {
	n, err := strconv.ParseFloat(text(root, name), 64)
	return n, err == nil
}

func glob(root fs.FS, pattern string) []string {
	names, err := fs.Glob(root, pattern)
	if err != nil {
		return nil
	}
	return names
}

// sysDevices lists what is on USB and PCI.
func sysDevices(root fs.FS) []device {
	var out []device
	for _, dir := range glob(root, "sys/bus/usb/devices/*") {
		product := text(root, path.Join(dir, "product"))
		if product == "" {
			continue // a port or an interface, no device
		}
		name := strings.TrimSpace(text(root, path.Join(dir, "manufacturer")) + " " + product)
		status := "OK"
		if text(root, path.Join(dir, "authorized")) == "0" {
			status = "Disabled"
		}
		out = append(out, device{Name: name, Class: usbClass(text(root, path.Join(dir, "bDeviceClass"))), Status: status})
	}
	for _, dir := range glob(root, "sys/bus/pci/devices/*") {
		class := pciClass(text(root, path.Join(dir, "class")))
		if class == "" {
			continue // part of the board, nothing plugged in
		}
		name := strings.TrimPrefix(text(root, path.Join(dir, "vendor")), "0x") + ":" + strings.TrimPrefix(text(root, path.Join(dir, "device")), "0x")
		if label := text(root, path.Join(dir, "label")); label != "" {
			name = label + " " + name
		}
		out = append(out, device{Name: "PCI " + name, Class: class, Status: ""})
	}
	return out
}

func usbClass(code string) string {
	switch code {
	case "01":
		return "Audio"
	case "03":
		return "Input"
	case "07":
		return "Printer"
	case "08":
		return "Storage"
	case "09":
		return "Hub"
	case "0e":
		return "Camera"
	case "e0":
		return "Wireless"
	}
	return "USB"
}

func pciClass(code string) string {
	code = strings.TrimPrefix(code, "0x")
	if len(code) < 2 {
		return ""
	}
	switch code[:2] {
	case "01":
		return "Storage"
	case "02":
		return "Network"
	case "03":
		return "Display"
	case "04":
		return "Audio"
	case "0c":
		return "Bus"
	case "0d":
		return "Wireless"
	}
	return ""
}

// sysBattery reads the first battery of the machine; those of mice and
// keyboards do not count.
func sysBattery(root fs.FS) *battery {
	for _, dir := range glob(root, "sys/class/power_supply/*") {
		if text(root, path.Join(dir, "type")) != "Battery" || text(root, path.Join(dir, "scope")) == "Device" || text(root, path.Join(dir, "present")) == "0" {
			continue
		}
		b := &battery{State: text(root, path.Join(dir, "status"))}
		if n, ok := number(root, path.Join(dir, "capacity")); ok {
			b.Charge = &n
		}
		for _, kind := range []string{"energy", "charge"} {
			full, ok1 := number(root, path.Join(dir, kind+"_full"))
			design, ok2 := number(root, path.Join(dir, kind+"_full_design"))
			if ok1 && ok2 && design > 0 {
				b.Health = ptr(min(100, float64(int(full/design*1000))/10))
				break
			}
		}
		return b
	}
	return nil
}

// sysSensors reads the thermometers.
func sysSensors(root fs.FS) []sensor {
	var out []sensor
	for _, file := range glob(root, "sys/class/hwmon/hwmon*/temp*_input") {
		milli, ok := number(root, file)
		if !ok {
			continue
		}
		dir, base := path.Split(file)
		label := text(root, dir+strings.TrimSuffix(base, "_input")+"_label")
		chip := text(root, dir+"name")
		out = append(out, sensor{Label: strings.TrimSpace(chip + " " + label), Temperature: milli / 1000})
	}
	return out
}

// encrypted reports whether a block device is, or is on, a dm-crypt device.
func encrypted(root fs.FS, dev string) bool {
	if strings.HasPrefix(text(root, path.Join("sys/class/block", dev, "dm/uuid")), "CRYPT-") {
		return true
	}
	entries, err := fs.ReadDir(root, path.Join("sys/class/block", dev, "slaves"))
	if err != nil {
		return false
	}
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !encrypted(root, e.Name()) })
}

// kernelReasons tells why Linux wants a restart.
func kernelReasons(root fs.FS, running string) []string {
	var out []string
	for _, name := range []string{"run/reboot-required", "var/run/reboot-required"} {
		if _, err := fs.Stat(root, name); err == nil {
			out = append(out, "RebootRequiredFile")
			break
		}
	}
	// The modules of the running kernel are gone while those of another are
	// there: it was replaced.
	installed, err := fs.ReadDir(root, "lib/modules")
	if err == nil && len(installed) > 0 && !slices.ContainsFunc(installed, func(e fs.DirEntry) bool { return e.Name() == running }) {
		if glob(root, "boot/vmlinuz*") != nil {
			out = append(out, "KernelReplaced")
		}
	}
	return out
}

// parseWireless reads /proc/net/wireless: the first interface and its signal
// in dBm.
func parseWireless(text string) (name string, dbm float64, ok bool) {
	for line := range strings.Lines(text) {
		iface, rest, found := strings.Cut(strings.TrimSpace(line), ":")
		fields := strings.Fields(rest)
		if !found || len(fields) < 3 {
			continue
		}
		level, err := strconv.ParseFloat(strings.TrimSuffix(fields[2], "."), 64)
		if err != nil {
			continue
		}
		if level > 63 { // old drivers count from 256 downwards
			level -= 256
		}
		return iface, level, true
	}
	return "", 0, false
}

// parseIwLink reads `iw dev NAME link`.
func parseIwLink(text string) *wifi {
	w := &wifi{Connected: strings.HasPrefix(strings.TrimSpace(text), "Connected to")}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		if !ok {
			continue
		}
		switch key {
		case "SSID":
			w.SSID = value
		case "freq":
			if mhz, err := strconv.ParseFloat(value, 64); err == nil {
				w.Band = bandOf(int(mhz))
			}
		case "signal":
			if f := strings.Fields(value); len(f) > 0 {
				if dbm, err := strconv.ParseFloat(f[0], 64); err == nil {
					w.Signal = ptr(quality(dbm))
				}
			}
		}
	}
	return w
}
