package kenny

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// catalogue is the protocol's tool table: name, class, default seconds,
// systems, wire keys ('?' optional).
const catalogueTable = `
powershell_exec   M  30 wlm script timeout_s? kill_background?
shell_exec        M  30 lm  script timeout_s? kill_background?
fs_list           R  30 wlm path
fs_search         R  60 wlm root pattern
fs_read           S  30 wlm path
fs_disk_usage     R  30 wlm
winget_list       R  60 w
winget_install    M 600 w   id
winget_uninstall  M 600 w   id
winget_update     M 600 w   id?
diag_processes    R  30 wlm
diag_services     R  30 wlm filter?
diag_eventlog     R  60 wlm log count
diag_autostart    R  30 wlm
net_config        R  30 wlm
net_dns_flush     M  30 wlm
net_adapter_reset M  60 wlm name
screen_capture    S  30 wlm
remotehelp_status R  30 wlm
remotehelp_start  M  30 w
remotehelp_stop   M  30 w
telemetry_collect R  60 wlm sections?
agent_update      M 120 wlm version url sha256`

func TestCatalogueIsTheProtocolsTable(t *testing.T) {
	var got []string
	for _, tool := range Tools() {
		f := []string{tool.Name, string(tool.Class), strconv.Itoa(int(tool.Timeout.Seconds())), ""}
		for _, o := range tool.On {
			f[3] += string(o[0])
		}
		for _, a := range tool.Args {
			if a.Optional {
				a.Name += "?"
			}
			f = append(f, a.Name)
		}
		got = append(got, strings.Join(f, " "))
	}
	var want []string
	for line := range strings.Lines(strings.TrimSpace(catalogueTable)) {
		want = append(want, strings.Join(strings.Fields(line), " "))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

func TestTenToolsMutateAndStrangersCountAsMutating(t *testing.T) {
	n := 0
	for _, tool := range Tools() {
		if ClassOf(tool.Name) == Mutating {
			n++
		}
	}
	if n != 10 || ClassOf("brew_install") != Mutating {
		t.Errorf("%d mutating tools", n)
	}
}

func TestHintsFollowTheProtocol(t *testing.T) {
	set := func(names ...string) map[string]bool {
		m := map[string]bool{}
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	destructive := set("powershell_exec", "shell_exec", "winget_install", "winget_uninstall", "agent_update")
	idempotent := set("net_dns_flush", "remotehelp_stop")
	open := set("powershell_exec", "shell_exec", "winget_list", "winget_install", "winget_uninstall", "winget_update",
		"agent_update", "remotehelp_status", "remotehelp_start", "remotehelp_stop")
	live := set("screen_capture", "remotehelp_status", "remotehelp_start", "remotehelp_stop")
	for _, tool := range Tools() {
		want := Hints{ReadOnly: tool.Class != Mutating, Destructive: destructive[tool.Name], Idempotent: idempotent[tool.Name], OpenWorld: open[tool.Name]}
		if tool.Hints != want {
			t.Errorf("%s: %+v, want %+v", tool.Name, tool.Hints, want)
		}
		if tool.Live != live[tool.Name] {
			t.Errorf("%s: live %v", tool.Name, tool.Live)
		}
	}
}

func TestSchemasAreClosedAndComplete(t *testing.T) {
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	for _, tool := range Tools() {
		if !name.MatchString(tool.Name) || tool.Title == "" || tool.Description == "" || !strings.HasSuffix(tool.Description, ".") {
			t.Errorf("%s: name, title or description", tool.Name)
		}
		var s struct {
			Type                 string
			AdditionalProperties *bool
			Required             []string
			Properties           map[string]map[string]any
		}
		if err := json.Unmarshal(tool.InputSchema(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("%s: not a closed object", tool.Name)
		}
		want := []string{"agent_id", "queue_for_s", "timeout_s"}
		var required []string
		for _, a := range tool.Args {
			if !slices.Contains(want, a.Name) {
				want = append(want, a.Name)
			}
			if !a.Optional {
				required = append(required, a.Name)
			}
		}
		var got []string
		for n, p := range s.Properties {
			got = append(got, n)
			if p["type"] == nil || p["description"] == nil {
				t.Errorf("%s.%s has no type or description", tool.Name, n)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", tool.Name, d)
		}
		if d := cmp.Diff(required, s.Required); d != "" {
			t.Errorf("%s required:\n%s", tool.Name, d)
		}
		if s.Properties["timeout_s"]["default"] != tool.Timeout.Seconds() {
			t.Errorf("%s: default time-out %v", tool.Name, s.Properties["timeout_s"]["default"])
		}
	}
}

func TestSchemaOfAnExecTool(t *testing.T) {
	tool, _ := Lookup("powershell_exec")
	got := value(t, tool.InputSchema())
	strip(got)
	want := value(t, []byte(`{"type":"object","additionalProperties":false,"required":["script"],"properties":{
		"agent_id":{"type":"string","maxLength":4096},
		"script":{"type":"string","minLength":1,"maxLength":131072},
		"timeout_s":{"type":"integer","minimum":1,"maximum":3600,"default":30},
		"kill_background":{"type":"boolean"},
		"queue_for_s":{"type":"integer","minimum":0,"maximum":604800,"default":0}}}`))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
}

func TestAFlagIsTrueOrFalseAndTravelsOnlyWhenGiven(t *testing.T) {
	tool, _ := Lookup("shell_exec")
	for raw, want := range map[string]string{
		`{"script":"x","kill_background":true}`:  `{"script":"x","timeout_s":30,"kill_background":true}`,
		`{"script":"x","kill_background":false}`: `{"script":"x","timeout_s":30,"kill_background":false}`,
		`{"script":"x"}`:                         `{"script":"x","timeout_s":30}`,
	} {
		args, err := tool.CheckArgs([]byte(raw))
		if err != nil || string(args.Wire()) != want || args.Flag("kill_background") != strings.Contains(want, "true") {
			t.Errorf("%s reaches the machine as %s (%v), not as %s", raw, args.Wire(), err, want)
		}
	}
	if _, err := tool.CheckArgs([]byte(`{"script":"x","kill_background":"yes"}`)); err == nil {
		t.Error("a text is taken for a flag")
	}
}

// strip removes descriptions.
func strip(v any) {
	if m, ok := v.(map[string]any); ok {
		delete(m, "description")
		for _, child := range m {
			strip(child)
		}
	}
}

func TestArgumentsAreCheckedExactly(t *testing.T) {
	cases := []struct{ tool, args, want, complaint string }{
		{"fs_list", `{"path":"/"}`, `{"path":"/"}`, ""},
		{"fs_list", `{}`, "", `needs "path"`},
		{"fs_list", `{"Path":"/"}`, "", `needs "path"`},
		{"fs_list", `{"path":"/","PATH":"/"}`, "", `did you mean "path"?`},
		{"fs_list", `{"path":"/","depth":1}`, "", `no argument "depth"; it takes path`},
		{"fs_list", `{"path":7}`, "", "must be a string"},
		{"fs_list", `{"path":null}`, "", "must be a string"},
		{"fs_list", `{"path":""}`, "", "must not be empty"},
		{"fs_list", `{"path":"a\u0000b"}`, "", "NUL"},
		{"fs_list", `{"path":"` + strings.Repeat("ä", MaxText) + `"}`, `{"path":"` + strings.Repeat("ä", MaxText) + `"}`, ""},
		{"fs_list", `{"path":"` + strings.Repeat("p", MaxText+1) + `"}`, "", "too long"},
		{"fs_list", `[]`, "", "not a JSON object"},
		{"fs_list", `{"path":"/","path":"/etc"}`, "", "not valid JSON"},
		{"fs_list", ``, "", "not valid JSON"},
		{"fs_disk_usage", `{}`, `{}`, ""},
		{"fs_disk_usage", `{"x":1}`, "", "it takes none"},
		{"shell_exec", `{"script":"id","timeout_s":3600}`, `{"script":"id","timeout_s":3600}`, ""},
		{"shell_exec", `{"timeout_s":5,"script":"id"}`, `{"script":"id","timeout_s":5}`, ""},
		{"shell_exec", `{"script":"id"}`, `{"script":"id","timeout_s":30}`, ""},
		{"shell_exec", `{"script":"id","timeout_s":30.0}`, `{"script":"id","timeout_s":30}`, ""},
		{"shell_exec", `{"script":"id","timeout_s":0}`, "", "from 1 to 3600"},
		{"shell_exec", `{"script":"id","timeout_s":3601}`, "", "from 1 to 3600"},
		{"shell_exec", `{"script":"id","timeout_s":1e999}`, "", "whole number"},
		{"shell_exec", `{"script":"id","timeout_s":1.5}`, "", "whole number"},
		{"shell_exec", `{"script":"id","timeout_s":"5"}`, "", "whole number"},
		{"shell_exec", `{"script":""}`, "", "must not be empty"},
		{"shell_exec", `{"script":"` + strings.Repeat("ä", MaxScript/2+1) + `"}`, "", "too long"},
		{"diag_eventlog", `{"log":"System","count":1000}`, `{"log":"System","count":1000}`, ""},
		{"diag_eventlog", `{"log":"System","count":1001}`, "", "from 1 to 1000"},
		{"diag_eventlog", `{"log":"System"}`, "", `needs "count"`},
		{"diag_services", `{}`, `{}`, ""},
		{"diag_services", `{"filter":""}`, `{"filter":""}`, ""},
		{"winget_install", `{"id":"Git.Git"}`, `{"id":"Git.Git"}`, ""},
		{"winget_install", `{"id":"--all"}`, "", "package id"},
		{"winget_install", `{"id":"a b"}`, "", "package id"},
		{"winget_update", `{}`, `{}`, ""},
		{"winget_update", `{"id":""}`, "", "must not be empty"},
		{"telemetry_collect", `{"sections":["disk","memory"]}`, `{"sections":["disk","memory"]}`, ""},
		{"telemetry_collect", `{"sections":[]}`, `{"sections":[]}`, ""},
		{"telemetry_collect", `{"sections":"disk"}`, "", "list of strings"},
		{"telemetry_collect", `{"sections":[1]}`, "", "list of strings"},
		{"telemetry_collect", `{"sections":[` + strings.Repeat(`"a",`, 128) + `"a"]}`, "", "at most 128"},
		{"agent_update", `{"version":"2","url":"https://h/x","sha256":"` + strings.Repeat("aB", 32) + `"}`, `{"version":"2","url":"https://h/x","sha256":"` + strings.Repeat("aB", 32) + `"}`, ""},
		{"agent_update", `{"version":"2","url":"https://h/x","sha256":"zz"}`, "", "64 hex digits"},
	}
	for _, c := range cases {
		tool, ok := Lookup(c.tool)
		if !ok {
			t.Fatalf("c.tool is %v; want ok", c.tool)
		}
		args, err := tool.CheckArgs(jsontext.Value(c.args))
		if c.complaint != "" {
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeBadArgs || !strings.Contains(e.Message, c.complaint) || !strings.Contains(e.Message, c.tool) {
				t.Errorf("%s %.60s: %v, want %q", c.tool, c.args, err, c.complaint)
			}
			continue
		}
		if err != nil || string(args.Wire()) != c.want {
			t.Errorf("%s %.60s: %s, %v; want no error, string(args.Wire()) to be %v", c.tool, c.args, args.Wire(), err, c.want)
		}
	}
}

func TestCallOptionsStayInTheHub(t *testing.T) {
	list, _ := Lookup("fs_list")
	in, err := list.CheckInput(jsontext.Value(`{"agent_id":"pc","timeout_s":9,"queue_for_s":60,"path":"/"}`))
	if err != nil || string(in.Args.Wire()) != `{"path":"/"}` {
		t.Fatalf("%s %v; want no error, string(in.Args.Wire()) to be \"{\"path\":\"/\"}\"", in.Args.Wire(), err)
	}
	if in.AgentID != "pc" || !in.HasAgent || in.Timeout.Seconds() != 9 || in.QueueFor.Seconds() != 60 {
		t.Errorf("%+v; want in.AgentID to be \"pc\", in.HasAgent, in.Timeout.Seconds() to be 9, in.QueueFor.Seconds() to be 60", in)
	}
	exec, _ := Lookup("shell_exec")
	in, err = exec.CheckInput(jsontext.Value(`{"script":"id","agent_id":""}`))
	if err != nil || string(in.Args.Wire()) != `{"script":"id","timeout_s":30}` || in.Timeout.Seconds() != 30 {
		t.Fatalf("%s %v; want no error, string(in.Args.Wire()) to be \"{\"script\":\"id\",\"timeout_s\":30}\", in.Timeout.Seconds() to be 30", in.Args.Wire(), err)
	}
	if in.AgentID != "" || !in.HasAgent {
		t.Error("a blank agent_id is not the same as none")
	}
	if !exec.TimeoutOnWire() || list.TimeoutOnWire() {
		t.Error("timeout_s travels for exec tools only")
	}
	shot, _ := Lookup("screen_capture")
	if _, err := shot.CheckInput(jsontext.Value(`{"queue_for_s":1}`)); err == nil {
		t.Error("a screenshot was queued")
	}
	if _, err := list.CheckArgs(jsontext.Value(`{"path":"/","agent_id":"pc"}`)); err == nil {
		t.Error("agent_id reached the wire")
	}
}

func TestWrongSystemIsNamed(t *testing.T) {
	for _, c := range []struct {
		tool string
		os   OS
		want string
	}{
		{"shell_exec", Windows, "use powershell_exec"},
		{"winget_list", Linux, "shell_exec"},
		{"remotehelp_start", MacOS, "does not exist on macos"},
		{"powershell_exec", Windows, ""},
		{"shell_exec", Linux, ""},
		{"remotehelp_status", Linux, ""},
	} {
		tool, _ := Lookup(c.tool)
		err := tool.CheckOS(c.os)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, &Error{Code: CodeUnsupported})) {
			t.Errorf("%s on %s: %v", c.tool, c.os, err)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("shell_exec", []byte(`{"script":"id","timeout_s":3}`))
	f.Add("telemetry_collect", []byte(`{"sections":["disk"]}`))
	f.Add("fs_list", []byte(`{"path":"/","path":2}`))
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		tool, ok := Lookup(name)
		if !ok {
			return
		}
		args, err := tool.CheckArgs(raw)
		if err != nil {
			return
		}
		again, err := tool.CheckArgs(args.Wire())
		if err != nil || string(again.Wire()) != string(args.Wire()) {
			t.Fatalf("%s does not survive its own check: %v", args.Wire(), err)
		}
	})
}
