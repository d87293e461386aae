package cluster_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
	"parley.internal/test/hubtest"
)

// A machine is reached from any hub, whatever the size of its answer, and comes
// back on another hub when its own dies.
func TestAMachineIsReachedThroughEveryHub(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	a, b := c.hubs[0], c.hubs[1]
	big := `{"content":"` + strings.Repeat("x", 3<<20) + `"}`
	m := hubtest.Enrol(t, a, "lab.pc-1", func(_ context.Context, r *kenny.Request) (jsontext.Value, error) {
		if r.Tool == "fs_read" {
			return jsontext.Value(big), nil
		}
		return r.Args, nil
	})
	stop := m.Connect(t, a)
	var answer rest.CallAnswer
	hubtest.Eventually(t, "the other hub knows the machine", func() bool {
		var err error
		answer, err = hubapi.Call(t.Context(), b.Client().Patient(), rest.CallMachine, rest.MachineCall{ID: "lab.pc-1", Body: rest.Call{Tool: "fs_list", Args: []byte(`{"path":"/tmp"}`)}})
		return err == nil
	})
	if string(answer.Result) != `{"path":"/tmp"}` {
		t.Errorf("%s; want string(answer.Result) to be \"{\"path\":\"/tmp\"}\"", answer.Result)
	}
	answer, err := hubapi.Call(t.Context(), b.Client().Patient(), rest.CallMachine, rest.MachineCall{ID: "lab.pc-1", Body: rest.Call{Tool: "fs_read", Args: []byte(`{"path":"/big"}`)}})
	if err != nil || string(answer.Result) != big {
		t.Errorf("%d of %d bytes, %v", len(answer.Result), len(big), err)
	}
	a.Kill9()
	stop()
	m.Connect(t, b)
	answer, err = hubapi.Call(t.Context(), b.Client().Patient(), rest.CallMachine, rest.MachineCall{ID: "lab.pc-1", Body: rest.Call{Tool: "fs_list", Args: []byte(`{"path":"/x"}`)}})
	if err != nil || string(answer.Result) != `{"path":"/x"}` {
		t.Errorf("%+v %v; want no error, string(answer.Result) to be \"{\"path\":\"/x\"}\"", answer, err)
	}
}
