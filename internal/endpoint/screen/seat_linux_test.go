package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADesktopIsFoundByItsVariables(t *testing.T) {
	env := []string{"PATH=/bin", "DISPLAY=:0", "XAUTHORITY=/run/user/1000/x", "SECRET=1"}
	if d := cmp.Diff([]string{"DISPLAY=:0", "XAUTHORITY=/run/user/1000/x"}, seatEnv(env)); d != "" {
		t.Errorf("d is %v; want no difference", d)
	}
	if got := seatEnv([]string{"XDG_RUNTIME_DIR=/run/user/1000", "DISPLAY="}); got != nil {
		t.Errorf("%v; want nil", got)
	}
}
