package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/egress"
	"parley.internal/internal/publicnet"
)

// NetworkTool names what a program of an agent does when it connects to a host that nobody has
// allowed yet. No model can call it; rules and modes know it by this name.
const NetworkTool = "network"

// network is asked about while a program runs. The arguments are the host alone, so that a yes
// for the rest of a task is for this host.
var network = &tool.Tool{
	Name: NetworkTool, Class: tool.Sensitive, Description: "Connect to a host from a command.",
	Reach: func(args json.RawMessage) string {
		var v struct {
			Host string `json:"host"`
		}
		_ = json.Unmarshal(args, &v) // ours: it can be read
		return v.Host
	},
	Run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("programs connect, not calls")
	},
}

// WayOut is the way out of the programs of a call: listed hosts need no question, others are
// asked about, and while somebody thinks about one, waiting is told.
func WayOut(guard publicnet.Guard, hosts []string, call tool.Call, waiting func(bool)) *egress.Exit {
	o := egress.Options{Guard: guard, Hosts: hosts}
	if call.Permit != nil {
		o.Permit = func(ctx context.Context, host string) error {
			args, err := json.Marshal(map[string]string{"host": host})
			if err != nil {
				return err
			}
			if waiting != nil {
				waiting(true)
				defer waiting(false)
			}
			return call.Permit(ctx, network, args)
		}
	}
	return egress.New(o)
}

// exitFor is the way out of a shell command.
func (c Config) exitFor(call tool.Call, n needs, clock *clock) *egress.Exit {
	return WayOut(c.Guard, slices.Concat(c.Hosts, n.Hosts), call, func(waits bool) {
		if waits {
			clock.hold()
		} else {
			clock.goOn()
		}
	})
}
