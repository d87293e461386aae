package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/internal/visible"
	"parley/protocol/kenny"
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
				a, err := c.CallMachine(ctx, args[0], call)
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
func (f callFlags) call(name string, pairs []string) (hubapi.MachineCall, kenny.Tool, error) {
	tool, ok := kenny.Lookup(name)
	if !ok {
		return hubapi.MachineCall{}, tool, usageError("there is no tool %q; 'parley machine call --help', or see docs/machines.md", name)
	}
	call := hubapi.MachineCall{Tool: name, TimeoutS: int64(f.timeout.Seconds()), QueueForS: int64(f.queue.Seconds()), ApprovalWaitS: new(int64)}
	if f.args != "" {
		if len(pairs) > 0 {
			return call, tool, usageError("either --args or key=value, not both")
		}
		call.Args = json.RawMessage(f.args)
		if !json.Valid(call.Args) {
			return call, tool, usageError("--args is not JSON")
		}
		return call, tool, nil
	}
	args, err := argsOf(tool, pairs)
	call.Args = args
	return call, tool, err
}

// argsOf makes an args object of key=value words, by the tool's own types.
func argsOf(tool kenny.Tool, pairs []string) (json.RawMessage, error) {
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
func (f callFlags) confirm(cmd *cobra.Command, machine string, tool kenny.Tool, call hubapi.MachineCall) error {
	if tool.Class != kenny.Mutating || f.yes {
		return nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !isTerminal(in) {
		return usageError("%s changes the machine: say --yes", tool.Name)
	}
	target := machine
	if f.tag != "" {
		target = "every machine tagged " + f.tag
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s on %s with %s\nGo on? [y/N] ", tool.Name, target, visible.Line(string(call.Args)))
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
func (g *globals) showCall(cmd *cobra.Command, tool kenny.Tool, a hubapi.CallAnswer) error {
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
func (g *globals) callMany(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, f callFlags, call hubapi.MachineCall) error {
	body := map[string]any{
		"tag": f.tag, "tool": call.Tool, "args": call.Args, "timeout_s": call.TimeoutS, "queue_for_s": call.QueueForS, "canary": f.canary, "stop_on_error": f.stopOnError,
		"approval_wait_s": call.ApprovalWaitS,
	}
	var raw json.RawMessage
	if err := c.Patient().Do(ctx, http.MethodPost, "/api/fleet/calls", nil, body, &raw); err != nil {
		return callFailed(err)
	}
	var asked hubapi.CallAnswer
	if err := json.Unmarshal(raw, &asked); err != nil {
		return fmt.Errorf("reading the hub's answer: %w", err)
	}
	if asked.State != "" {
		done, err := awaitYes(ctx, cmd, c, asked)
		if err != nil {
			return err
		}
		raw = done.Result
	}
	var r struct {
		Items []struct {
			Machine string          `json:"agent_id"`
			CallID  string          `json:"call_id"`
			State   string          `json:"state"`
			Result  json.RawMessage `json:"result,omitempty"`
			Error   *struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			} `json:"error,omitempty"`
		} `json:"items"`
		Done    int  `json:"done"`
		Failed  int  `json:"failed"`
		Stopped bool `json:"stopped"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("reading the hub's answer: %w", err)
	}
	err := g.show(cmd, r, func(p *printer) {
		p.table("MACHINE", "STATE", "WHAT")
		for _, it := range r.Items {
			what := string(it.Result)
			if it.Error != nil {
				what = it.Error.Code + ": " + it.Error.Message
			}
			p.row(it.Machine, it.State, what)
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
				a, err := c.CollectMachine(ctx, args[0], sections)
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
