package health

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"parley.internal/protocol/kenny"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// section makes a section the machine itself calls fine or not.
func section(status, fields string) jsontext.Value {
	if fields != "" {
		fields = "," + fields
	}
	return jsontext.Value(fmt.Sprintf(`{"status":%q,"summary":"said the machine"%s}`, status, fields))
}

func ago(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }

func in(d time.Duration) string { return ago(-d) }

const day = 24 * time.Hour

func TestEveryThreshold(t *testing.T) {
	vol := func(p ...string) string {
		s := ""
		for i, x := range p {
			if i > 0 {
				s += ","
			}
			s += `{"mount":"C:","percent_used":` + x + `}`
		}
		return `"volumes":[` + s + `]`
	}
	temp := func(c string) string {
		return `"sensors":[{"label":"cpu","temperature_c":20},{"temperature_c":` + c + `}]`
	}
	def := func(e, r, scan string) string {
		return `"enabled":` + e + `,"realtime_protection":` + r + `,"last_scan":` + scan
	}
	q := func(s string) string { return `"` + s + `"` }
	for _, c := range []struct {
		section, fields string
		want            kenny.Status // "" means the machine's own status stays
	}{
		{"disk", vol("80"), ok},
		{"disk", vol("80.1"), warn},
		{"disk", vol("94.9"), warn},
		{"disk", vol("95"), crit},
		{"disk", vol("95.1"), crit},
		{"disk", vol("0"), ok},
		{"disk", vol("10", "97", "20"), crit},
		{"disk", vol("null"), ""},
		{"disk", vol(`"99"`), ""},
		{"disk", `"volumes":[]`, ""},
		{"disk", `"volumes":null`, ""},
		{"disk", "", ""},
		{"disk", `"volumes":[7,null]`, ""},
		{"defender", def("true", "true", q(ago(14*day))), ok},
		{"defender", def("true", "true", q(ago(14*day-time.Second))), ok},
		{"defender", def("true", "true", q(ago(14*day+time.Second))), warn},
		{"defender", def("true", "true", "null"), ok},
		{"defender", def("true", "true", q("never")), ok},
		{"defender", def("true", "false", "null"), crit},
		{"defender", def("false", "true", "null"), crit},
		{"defender", def("null", "false", "null"), crit},
		{"defender", def("false", "null", "null"), crit},
		{"defender", def("null", "true", "null"), ok},
		{"defender", def("null", "null", q(ago(99*day))), ""},
		{"defender", def("true", "true", q("2026-02-01T00:00:00")), warn},
		{"defender", def("true", "true", q("2026-02-15T12:00:00+02:00")), warn},
		{"win_update", `"recent":[{"result":"succeeded"}]`, ok},
		{"win_update", `"recent":[{"result":"FAILED","kb":"KB1"}]`, warn},
		{"win_update", `"recent":[{"result":"failed"},{"result":"Failed"}]`, warn},
		{"win_update", `"recent":[]`, ok},
		{"win_update", "", ok},
		{"reboot_pending", `"pending":true,"reasons":["A","B"]`, warn},
		{"reboot_pending", `"pending":true`, warn},
		{"reboot_pending", `"pending":false`, ok},
		{"reboot_pending", "", ok},
		{"battery", `"health_percent":49.9`, crit},
		{"battery", `"health_percent":50`, warn},
		{"battery", `"health_percent":69.9`, warn},
		{"battery", `"health_percent":70`, ""},
		{"battery", `"health_percent":70.1`, ""},
		{"battery", `"health_percent":null`, ""},
		{"battery", "", ""},
		{"memory", `"percent_used":84.9`, ok},
		{"memory", `"percent_used":85`, ok},
		{"memory", `"percent_used":85.1`, warn},
		{"memory", `"percent_used":95`, warn},
		{"memory", `"percent_used":95.1`, crit},
		{"memory", "", ""},
		{"thermals", temp("84.9"), ok},
		{"thermals", temp("85"), warn},
		{"thermals", temp("94.9"), warn},
		{"thermals", temp("95"), crit},
		{"thermals", `"sensors":[]`, ""},
		{"thermals", `"sensors":[{"temperature_c":-10}]`, ok},
		{"os_support", `"eol":true`, crit},
		{"os_support", `"eol":false`, ""},
		{"os_support", "", ""},
		{"os_support", `"eol":false,"eol_date":"` + ago(time.Second) + `"`, crit},
		{"os_support", `"eol":false,"eol_date":"` + in(0) + `"`, warn},
		{"os_support", `"eol":false,"eol_date":"` + in(90*day) + `"`, warn},
		{"os_support", `"eol":false,"eol_date":"` + in(90*day+time.Second) + `"`, ""},
		{"os_support", `"eol_date":"2026-05-01"`, warn},
		{"os_support", `"eol_date":"soon"`, ""},
		{"reliability", `"stability_index":2.9`, crit},
		{"reliability", `"stability_index":3`, warn},
		{"reliability", `"stability_index":5.9`, warn},
		{"reliability", `"stability_index":6`, ok},
		{"reliability", `"stability_index":null,"recent_crashes":14`, ok},
		{"reliability", `"recent_crashes":15`, warn},
		{"reliability", `"recent_crashes":49`, warn},
		{"reliability", `"recent_crashes":50`, crit},
		{"reliability", `"stability_index":9,"recent_crashes":50`, crit},
		{"reliability", `"stability_index":2,"recent_crashes":0`, crit},
		{"reliability", "", ""},
		{"reliability", `"stability_index":null,"recent_crashes":null`, ""},
		{"firewall", `"profiles":[]`, ""},
		{"uptime", `"uptime_secs":9e9`, ""},
	} {
		for _, machine := range []kenny.Status{ok, warn, crit} {
			want := c.want
			if want == "" {
				want = machine
			}
			r := Judge(kenny.Windows, map[string]jsontext.Value{c.section: section(string(machine), c.fields)}, nil, now)
			v := r.Sections[c.section]
			if v.Status != want || r.Overall != want || v.Summary != "said the machine" {
				t.Errorf("%s {%s}, machine says %s: %+v, want %s", c.section, c.fields, machine, v, want)
			}
			if ruled := c.want == warn || c.want == crit; ruled != (v.Reason != "") {
				t.Errorf("%s {%s}: reason %q", c.section, c.fields, v.Reason)
			}
		}
	}
}

func TestWindowsRulesAreSkippedElsewhere(t *testing.T) {
	for name, fields := range map[string]string{
		"defender": `"enabled":false,"realtime_protection":false`, "win_update": `"recent":[{"result":"failed"}]`, "reboot_pending": `"pending":true`,
	} {
		for _, o := range []kenny.OS{kenny.Linux, kenny.MacOS} {
			if r := Judge(o, map[string]jsontext.Value{name: section("ok", fields)}, nil, now); r.Overall != ok {
				t.Errorf("%s on %s: %s", name, o, r.Overall)
			}
		}
	}
}

func sample(t *testing.T) map[string]jsontext.Value {
	t.Helper()
	data, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	var snapshot map[string]json.RawMessage
	if err := json.Unmarshal(data, &snapshot); err != nil {
		t.Fatal(err)
	}
	out := map[string]jsontext.Value{}
	for k, v := range snapshot {
		out[k] = jsontext.Value(v)
	}
	return out
}

func TestSampleIsJudged(t *testing.T) {
	r := Judge(kenny.Linux, sample(t), nil, now)
	got := map[string]kenny.Status{}
	for name, v := range r.Sections {
		got[name] = v.Status
	}
	want := map[string]kenny.Status{
		"disk": crit, "memory": ok, "defender": ok, "win_update": ok, "reboot_pending": warn,
		"thermals": warn, "os_support": warn, "time_sync": warn, "processes": ok,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if r.Overall != crit || r.Summary() != "/ is 96 % full +4 more" {
		t.Errorf("%s: %s; want r.Overall to be %v, r.Summary() to be \"/ is 96 %% full +4 more\"", r.Overall, r.Summary(), crit)
	}
	if d := cmp.Diff([]string{"disk", "os_support", "reboot_pending", "thermals", "time_sync"}, r.Flagged()); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

func TestMutedSectionsAreShownNotCounted(t *testing.T) {
	for name, c := range map[string]struct {
		until time.Time
		muted bool
	}{"for good": {time.Time{}, true}, "still": {now.Add(time.Second), true}, "over": {now, false}} {
		r := Judge(kenny.Linux, sample(t), map[string]Mute{"disk": {Reason: "known", Until: c.until}, "absent": {}}, now)
		if v := r.Sections["disk"]; v.Muted != c.muted || v.Status != crit {
			t.Errorf("%s: %+v; want v.Muted to be %v, v.Status to be %v", name, v, c.muted, crit)
		}
		if (r.Overall == warn) != c.muted || slices.Contains(r.Flagged(), "disk") == c.muted {
			t.Errorf("%s: overall %s, flagged %v", name, r.Overall, r.Flagged())
		}
	}
}

func TestSummaryOfOneMachine(t *testing.T) {
	for want, s := range map[string]map[string]jsontext.Value{
		"no telemetry yet":            nil,
		"all green":                   {"a": section("ok", "")},
		"said the machine":            {"a": section("warn", "")},
		"b":                           {"b": jsontext.Value(`{"status":"warn","summary":""}`)},
		"said the machine +1 more":    {"a": section("warn", ""), "b": section("warn", "")},
		"real-time protection is off": {"defender": section("ok", `"enabled":true,"realtime_protection":false`)},
		"memory 99.5 % used +1 more":  {"memory": section("ok", `"percent_used":99.5`), "a": section("warn", "")},
		"reboot pending: A, B":        {"reboot_pending": section("ok", `"pending":true,"reasons":["A",1,"B"]`)},
		"an update failed KB7":        {"win_update": section("ok", `"recent":[{"result":"failed","kb":"KB7"}]`)},
		"last virus scan 20 days ago": {"defender": section("ok", `"enabled":true,"last_scan":"`+ago(20*day)+`"`)},
		"20 crashes lately":           {"reliability": section("ok", `"stability_index":5,"recent_crashes":20`)},
		"stability index 2.5":         {"reliability": section("ok", `"stability_index":2.5`)},
		"battery health 40 %":         {"battery": section("ok", `"health_percent":40`)},
		"a sensor at 101 °C":          {"thermals": section("ok", `"sensors":[{"temperature_c":101}]`)},
	} {
		if got := Judge(kenny.Windows, s, nil, now).Summary(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFleetIsTheWorstOfTheKnown(t *testing.T) {
	u := kenny.StatusUnknown
	for _, c := range []struct {
		in   []kenny.Status
		want kenny.Status
	}{
		{nil, u},
		{[]kenny.Status{u, u}, u},
		{[]kenny.Status{u, ok}, ok},
		{[]kenny.Status{ok, warn, u}, warn},
		{[]kenny.Status{crit, ok, warn}, crit},
		{[]kenny.Status{"odd", ok}, ok},
	} {
		if got := Worst(c.in...); got != c.want {
			t.Errorf("%v: %s; want %v", c.in, got, c.want)
		}
	}
}

func TestASectionTheCodecWouldRefuseIsLeftOut(t *testing.T) {
	r := Judge(kenny.Linux, map[string]jsontext.Value{"a": jsontext.Value(`{"status":"odd"}`), "b": section("warn", "")}, nil, now)
	if len(r.Sections) != 1 || r.Overall != warn {
		t.Errorf("%+v; want len(r.Sections) to be 1, r.Overall to be %v", r, warn)
	}
}

// A frame as a Windows machine sends it, from the wire to the verdict: what it says
// of itself does not count where the hub can judge.
func TestAFrameOfAWindowsMachineIsJudged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "frames", "telemetry_windows.json"))
	if err != nil {
		t.Fatal(err)
	}
	frame, err := kenny.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	r := Judge(kenny.Windows, frame.(*kenny.Telemetry).Snapshot, nil, now)
	got := map[string]kenny.Status{"overall": r.Overall}
	for name, v := range r.Sections {
		got[name] = v.Status
	}
	want := map[string]kenny.Status{
		"disk": warn, "win_update": warn, "reboot_pending": warn, "defender": crit, "thermals": ok, "overall": crit,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("disk", []byte(`{"status":"ok","summary":"","volumes":[{"percent_used":99}]}`))
	f.Add("defender", []byte(`{"status":"ok","summary":"","last_scan":"2026-01-01"}`))
	f.Add("reliability", []byte(`{"status":"ok","summary":"","recent_crashes":1e999}`))
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		r := Judge(kenny.Windows, map[string]jsontext.Value{name: raw}, nil, now)
		if grade(r.Overall) < grade(ok) {
			t.Errorf("a snapshot is judged %q", r.Overall)
		}
		_ = r.Summary()
	})
}
