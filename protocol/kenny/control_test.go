package kenny

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestMachinesTellWhereTheirSwitchStands(t *testing.T) {
	for raw, want := range map[string]Control{
		`"on"`: ControlOn, `"ask"`: ControlAsk, `"off"`: ControlOff, `"private"`: ControlPrivate,
		`"ON"`: "", `"maybe"`: "", `1`: "", `null`: "", `{}`: "", ``: "",
	} {
		meta := Meta{Extra: map[string]jsontext.Value{ControlKey: jsontext.Value(raw)}}
		if got := meta.Control(); got != want {
			t.Errorf("meta with %s: %q, want %q", raw, got, want)
		}
		if raw == "" {
			raw = "null"
		}
		told := Log{Target: TargetControl, Fields: jsontext.Value(`{"user":"ann","` + ControlKey + `":` + raw + `}`)}
		if got := told.Control(); got != want {
			t.Errorf("log with %s: %q, want %q", raw, got, want)
		}
		other := Log{Target: "endpoint/tools", Fields: told.Fields}
		if got := other.Control(); got != "" {
			t.Errorf("another record tells of the switch: %q", got)
		}
	}
	if got := (Meta{}).Control(); got != "" {
		t.Errorf("a machine that says nothing: %q", got)
	}
	if got := (&Log{Target: TargetControl}).Control(); got != "" {
		t.Errorf("a record without fields: %q", got)
	}
}
