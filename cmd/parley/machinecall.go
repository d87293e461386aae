package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/visible"
	"parley.internal/protocol/kenny"
	"parley.internal/protocol/rest"
)

// callFlags are the flags of machine call.
type callFlags struct {
	args           string
	timeout, queue time.Duration
	yes            bool
	tag            string
	canary         int
	stopOnError    bool
}

func newMachineCall(g *globals) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use: "call ID TOOL [key=value …]", Short: "Do something on a machine", Args: atLeast(2, "name the machine and the tool"),
		Long: `Do something on a machine. A tool that changes it is confirmed on the terminal;
--yes skips that. Then the hub asks in the inbox, unless the token has
fleet:unattended: the command says so and waits for the answer, Ctrl-C takes
the call back. --yes is no answer to that question.

The exec tools print what the script printed and exit with its status. Other
failures exit with 3 and say 'code: message'.`,
		Example: "  parley machine call studio-3 fs_list path=/var/log\n  parley machine call studio-3 shell_exec script='uptime' --yes\n  parley machine call --tag lab ALL net_dns_flush --yes --canary 1",
		RunE: func(cmd *cobra.Command, args []string) error {
			call, tool, err := f.call(args[1], args[2:])
			if err != nil {
				return err
			}
			if err := f.confirm(cmd, args[0], tool, call); err != nil {
				return err
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				if f.tag != "" {
					return g.callMany(ctx, cmd, c, f, call)
				}
				a, err := hubapi.Call(ctx, c.Patient(), rest.CallMachine, rest.MachineCall{ID: args[0], Body: call})
				if err != nil {
					return callFailed(err)
				}
				if a, err = awaitYes(ctx, cmd, c, a); err != nil {
					return err
				}
				return g.showCall(cmd, tool, a)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "", "the arguments as a JSON object, instead of key=value")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long the machine may take")
	flags.DurationVar(&f.queue, "queue", 0, "keep the call that long for a machine that is away")
	flags.BoolVar(&f.yes, "yes", false, "do not ask on the terminal before changing the machine")
	flags.StringVar(&f.tag, "tag", "", "every machine with this tag; ID is then any word")
	flags.IntVar(&f.canary, "canary", 0, "with --tag: that many first, the rest only if they succeed")
	flags.BoolVar(&f.stopOnError, "stop-on-error", false, "with --tag: start nothing more after a failure")
	return jsonFlag(cmd, g)
}

// call makes the request of the command line.
func (f callFlags) call(name string, pairs []string) (rest.Call, kenny.Tool, error) {
	tool, ok := kenny.Lookup(name)
	if !ok {
		return rest.Call{}, tool, usageError("there is no tool %q; 'parley machine call --help', or see docs/machines.md", name)
	}
	call := rest.Call{Tool: name, TimeoutS: int64(f.timeout.Seconds()), QueueForS: int64(f.queue.Seconds()), ApprovalWaitS: new(int64)}
	if f.args != "" {
		if len(pairs) > 0 {
			return call, tool, usageError("either --args or key=value, not both")
		}
		call.Args = jsontext.Value(f.args)
		if !call.Args.IsValid() {
			return call, tool, usageError("--args is not JSON")
		}
		return call, tool, nil
	}
	args, err := argsOf(tool, pairs)
	call.Args = args
	return call, tool, err
}

// argsOf makes an args object of key=value words, by the tool's own types.
func argsOf(tool kenny.Tool, pairs []string) (jsontext.Value, error) {
	values := map[string]any{}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usageError("%q is not key=value", pair)
		}
		values[key] = text
		i := slices.IndexFunc(tool.Args, func(a kenny.Arg) bool { return a.Name == key })
		if i < 0 {
			continue // the hub says what it takes instead
		}
		switch tool.Args[i].Kind {
		case kenny.KindInteger:
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, usageError("%s must be a whole number", key)
			}
			values[key] = n
		case kenny.KindFlag:
			on, err := strconv.ParseBool(text)
			if err != nil {
				return nil, usageError("%s must be true or false", key)
			}
			values[key] = on
		case kenny.KindTexts:
			values[key] = strings.Split(text, ",")
		}
	}
	return json.Marshal(values)
}

// confirm asks before a machine is changed: on a terminal, else --yes must be
// given.
func (f callFlags) confirm(cmd *cobra.Command, machine string, tool kenny.Tool, call rest.Call) error {
	if tool.Class != kenny.Mutating || f.yes {
		return nil
	}
	target := machine
	if f.tag != "" {
		target = "every machine tagged " + f.tag
	}
	return confirmed(cmd, fmt.Sprintf("%s on %s with %s", tool.Name, target, visible.Line(string(call.Args))), tool.Name+" changes the machine")
}

// confirmed asks on the terminal whether to go on; without one, --yes must be said.
func confirmed(cmd *cobra.Command, what, why string) error {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !isTerminal(in) {
		return usageError("%s: say --yes", why)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s\nGo on? [y/N] ", what)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || !strings.EqualFold(strings.TrimSpace(answer), "y") {
		return &exitError{code: 3, text: "denied: not confirmed"}
	}
	return nil
}

// callFailed is how every failed call ends: code and message, exit 3.
func callFailed(err error) error {
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return &exitError{code: 3, text: e.Code + ": " + visible.Line(e.Detail)}
	}
	return err
}

// showCall prints a result; a script's own output and status are passed on.
func (g *globals) showCall(cmd *cobra.Command, tool kenny.Tool, a rest.CallAnswer) error {
	if g.json {
		return g.show(cmd, a, nil)
	}
	if a.State != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", a.State, a.CallID)
		fmt.Fprintf(cmd.ErrOrStderr(), "the machine is away; the call waits until %s\n", a.Expires.Local().Format(time.DateTime))
		return nil
	}
	if !tool.TimeoutOnWire() {
		fmt.Fprintln(cmd.OutOrStdout(), indented(a.Result))
		return nil
	}
	var r struct {
		Stdout   string `json:"stdout"`
		Stderr   string `json:"stderr"`
		ExitCode int    `json:"exit_code"`
		Note     string `json:"note"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return fmt.Errorf("the machine's answer cannot be read: %w", err)
	}
	_, _ = io.WriteString(cmd.OutOrStdout(), r.Stdout)
	_, _ = io.WriteString(cmd.ErrOrStderr(), r.Stderr)
	if r.Note != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "parley: "+visible.Line(r.Note))
	}
	if r.ExitCode != 0 {
		return &exitError{code: statusOf(r.ExitCode)}
	}
	return nil
}

// statusOf fits a script's status into what a process may end with.
func statusOf(code int) int {
	if code < 0 || code > 255 {
		return 255
	}
	return code
}

// callMany makes one call on every machine of a tag.
func (g *globals) callMany(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, f callFlags, call rest.Call) error {
	answer, err := hubapi.Call(ctx, c.Patient(), rest.CallMachines, rest.FanOut{Tag: f.tag, Call: call, Canary: f.canary, StopOnError: f.stopOnError})
	if err != nil {
		return callFailed(err)
	}
	r := answer.FanResult
	if asked := answer.CallAnswer; asked != nil {
		done, err := awaitYes(ctx, cmd, c, *asked)
		if err == nil {
			err = jsonx.Unmarshal(done.Result, &r)
		}
		if err != nil {
			return err
		}
	}
	if r == nil {
		return errors.New("the hub's answer has neither results nor a question")
	}
	err = g.show(cmd, r, func(p *printer) {
		p.table("MACHINE", "STATE", "WHAT")
		for _, it := range r.Items {
			what := string(it.Result)
			if it.Error != nil {
				what = string(it.Error.Code) + ": " + it.Error.Message
			}
			p.row(it.Machine, string(it.State), what)
		}
	})
	if err == nil && r.Failed > 0 {
		err = &exitError{code: 3, text: fmt.Sprintf("%d of %d failed", r.Failed, len(r.Items))}
	}
	return err
}

// atLeast asks for that many words.
func atLeast(n int, otherwise string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError("%s", otherwise)
		}
		return nil
	}
}

func newMachineCollect(g *globals) *cobra.Command {
	var sections []string
	cmd := &cobra.Command{
		Use: "collect ID", Short: "Have a machine measure itself now", Args: exactly(1, "name the machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				a, err := hubapi.Call(ctx, c.Patient(), rest.CollectMachine, rest.Collection{ID: args[0], Body: rest.Sections{Sections: sections}})
				if err != nil {
					return callFailed(err)
				}
				return g.show(cmd, a, func(p *printer) { p.line(indented(a.Result)) })
			})
		},
	}
	cmd.Flags().StringSliceVar(&sections, "sections", nil, "only these sections")
	return jsonFlag(cmd, g)
}

const (
	// lookAgain is how often a call that waits for a person's yes is looked at.
	lookAgain = time.Second
	// goodbye is how long taking a call back may take.
	goodbye = 10 * time.Second
)

// awaitYes waits until a call that the hub asks a person about has an outcome. Until
// then it can be taken back with Ctrl-C.
func awaitYes(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, a rest.CallAnswer) (rest.CallAnswer, error) {
	if a.State != rest.StateAsking {
		return a, nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "waits for a yes in the inbox: %s (on the page, or 'parley approvals approve' with another token)\nCtrl-C takes the call %s back\n", a.ApprovalID, a.CallID)
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		st, err := hubapi.Call(ctx, c, rest.GetCall, rest.CallID{ID: a.CallID})
		switch {
		case ctx.Err() != nil:
			return a, takeBack(ctx, c, a.CallID)
		case err != nil:
			return a, callFailed(err)
		case st.Error != nil:
			return a, &exitError{code: 3, text: string(st.Error.Code) + ": " + visible.Line(st.Error.Message)}
		case st.State == rest.StateDone:
			return rest.CallAnswer{OK: true, CallID: a.CallID, Result: st.Result}, nil
		case st.State == rest.StateQueued:
			return rest.CallAnswer{OK: true, CallID: a.CallID, State: st.State, Expires: st.Expires}, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// takeBack cancels a call for somebody who pressed Ctrl-C.
func takeBack(ctx context.Context, c *hubapi.Client, call string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	st, err := hubapi.Call(ctx, c, rest.CancelCall, rest.CallID{ID: call})
	switch {
	case err != nil:
		return &exitError{code: exitCancelled, text: fmt.Sprintf("the call %s could not be taken back: %v", call, err)}
	case st.State == rest.StateCancelled:
		return &exitError{code: exitCancelled, text: "cancelled: nothing ran"}
	}
	return &exitError{code: exitCancelled, text: fmt.Sprintf("too late: the call %s is %s", call, st.State)}
}
