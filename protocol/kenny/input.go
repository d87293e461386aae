package kenny

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Input is a checked call as an MCP client or a script makes it: the tool's
// arguments and the options that stay in the hub.
type Input struct {
	// AgentID is the target; HasAgent tells a blank one from none at all.
	AgentID  string
	HasAgent bool
	Timeout  time.Duration
	QueueFor time.Duration
	// Args are the tool's own arguments; Args.Wire() is what a machine gets.
	Args Args
}

// CheckInput holds a call to the schema of [Tool.InputSchema]. The error is an
// [*Error] with [CodeBadArgs].
func (t Tool) CheckInput(raw jsontext.Value) (Input, error) {
	all, err := checkArgs(t.Name, t.inputArgs(), raw)
	if err != nil {
		return Input{}, err
	}
	in := Input{
		AgentID:  all.Text(keyAgent),
		HasAgent: all.Has(keyAgent),
		Timeout:  time.Duration(all.Int(keyTimeout)) * time.Second,
		QueueFor: time.Duration(all.Int(keyQueue)) * time.Second,
		Args:     Args{values: all.values},
	}
	for _, a := range t.Args {
		in.Args.order = append(in.Args.order, a.Name)
	}
	return in, nil
}

// inputArgs are the tool's arguments with the options around them, in the
// order a schema shows them.
func (t Tool) inputArgs() []Arg {
	target := Arg{
		Name: keyAgent, Kind: KindText, Optional: true, Max: MaxText,
		Description: "id of the machine, from list_agents; left out, the one picked with select_agent in this session",
	}
	args := []Arg{target}
	for _, a := range t.Args {
		if a.Name != keyTimeout {
			args = append(args, a)
		}
	}
	return append(args, timeoutArg(int(t.Timeout.Seconds())), t.queueArg())
}

func (t Tool) queueArg() Arg {
	a := Arg{
		Name: keyQueue, Kind: KindInteger, Optional: true, Max: int(MaxQueue.Seconds()),
		Description: "if the machine is away, seconds to keep the call for it; 0 fails at once",
	}
	if t.Live {
		a.Max, a.Description = 0, "this call cannot wait for a machine that is away"
	}
	return a
}
