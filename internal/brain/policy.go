package brain

import (
	"slices"
	"strings"

	"parley/internal/brain/tool"
)

// Policy decides which tools a run may use without asking. It is made from who
// the run is for and the agent's file, never from anything a model or a tool says.
type Policy struct {
	// Stranger marks a sender that is no person at this hub's own devices.
	Stranger bool
	// AutoApprove names sensitive tools that need not ask.
	AutoApprove []string
}

// PolicyFor is the policy for a sender: one with a ":" came through a gateway or
// from another agent.
func PolicyFor(sender string, autoApprove []string) Policy {
	return Policy{Stranger: strings.Contains(sender, ":"), AutoApprove: autoApprove}
}

// Judge says what to do with a call. tainted tells that the turn has read words of
// strangers: from then on a person looks at every sensitive call.
func (p Policy) Judge(name string, class tool.Class, tainted bool) tool.Verdict {
	switch {
	case class == tool.ReadOnly:
		return tool.Verdict{Action: tool.Allow}
	case class == tool.Mutating && !p.Stranger:
		return tool.Verdict{Action: tool.Allow}
	case class == tool.Mutating:
		return tool.Verdict{Action: tool.Ask}
	case p.Stranger:
		return tool.Verdict{Action: tool.Refuse, Reason: "sensitive tools never run for this sender"}
	case !tainted && slices.Contains(p.AutoApprove, name):
		return tool.Verdict{Action: tool.Allow}
	default:
		return tool.Verdict{Action: tool.Ask}
	}
}
