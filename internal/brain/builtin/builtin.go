package builtin

import (
	"context"
	"os"
	"time"

	"parley.internal/internal/brain/tool"
	"parley.internal/internal/identity"
	"parley.internal/internal/mask"
	"parley.internal/internal/publicnet"
	"parley.internal/internal/sandbox"
	"parley.internal/internal/workspace"
)

// Config says what the tools may reach. The zero value is the safe one.
type Config struct {
	// Policy holds the deny list the shell obeys; nil means the defaults.
	Policy *Policy
	// Sandbox runs commands; nil is one without boxes.
	Sandbox *sandbox.Sandbox
	// Roots are folders besides the workspace that file tools and shell may use.
	Roots []string
	// Granted are folders of other people that an agent may use for its person; nil knows none.
	Granted func(ctx context.Context, who identity.Actor) ([]workspace.Folder, error)
	// Mask is what of a command's output is not even kept: what is cut out of a long
	// one cannot be told from something else afterwards.
	Mask *mask.Mask
	// Guard is what web_fetch and commands connect by; Hosts need no question.
	Guard publicnet.Guard
	Hosts []string

	grace time.Duration // between the polite and the final signal
}

// Tools returns the built-in tools.
func Tools(c Config) []*tool.Tool {
	if c.Policy == nil {
		c.Policy = defaultPolicy()
	}
	if c.Sandbox == nil {
		c.Sandbox = sandbox.New(sandbox.Options{Environ: os.Environ()})
	}
	if c.grace == 0 {
		c.grace = shellGrace
	}
	out := []*tool.Tool{shellTool(c)}
	out = append(out, fileTools(c)...)
	return append(out, webTool(c))
}
