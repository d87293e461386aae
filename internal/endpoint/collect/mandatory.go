package collect

import wire "parley.internal/protocol/kenny"

// mandatory lists the sections every snapshot has, with the fields they have
// where they make no sense.
func mandatory() map[string]map[string]any {
	none := []any{}
	return map[string]map[string]any{
		"disk":        {"volumes": none, "top_dirs": none},
		"peripherals": {"devices": none},
		"network":     {"interfaces": none, "dns": none},
		"routing":     {"routes": none, "default_interface": ""},
		"processes":   {"count": 0, "processes": none},
		"services":    {"services": none},
		"defender": {
			"enabled": nil, "realtime_protection": nil, "last_scan": nil, "last_scan_type": nil,
			"last_signature_update": nil, "threats_found": nil, "action_needed": nil,
		},
		"win_update": {"last_check": nil, "recent": none},
	}
}

// inapplicable is a mandatory section that makes no sense here; nil for others.
func (c *Collector) inapplicable(name string) *section {
	fields, ok := mandatory()[name]
	if !ok {
		return nil
	}
	fields["applicable"] = false
	return &section{status: wire.StatusOK, summary: "not applicable on " + string(c.os), fields: fields}
}
