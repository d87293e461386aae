package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"parley.internal/client/viber"
	"parley.internal/cmd/parley/screen"
	"parley.internal/internal/terminal/keeper"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
)

// leaveKey is Ctrl-], which leaves a terminal that one is attached to.
const leaveKey = 0x1d

func newTerminal(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "terminal", Short: "Open and share terminals", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTerminalList(g), newTerminalOpen(g), newTerminalAttach(g), newTerminalClose(g))
	return cmd
}

// keeperRole is how this program is told to keep a terminal that outlives its hub.
const keeperRole = "keeper"

// keeperProgram is this very program, also when another version has taken its place.
func keeperProgram() []string {
	path, err := os.Executable()
	if runtime.GOOS == "linux" {
		path, err = "/proc/self/exe", nil
	}
	if err != nil {
		return nil
	}
	return []string{path, keeperRole}
}

func newKeeper() *cobra.Command {
	return &cobra.Command{
		Use: keeperRole, Hidden: true, Short: "Keep a terminal while its hub is away", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return keeper.Main(os.Stdin, os.Stdout) },
	}
}

func newTerminalList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List terminals", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := askBoard(g, cmd, rest.ListTerminals, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Terminals, func(p *printer) {
				p.table("ID", "NAME", "STATUS", "SIZE", "VIEWERS", "TASK", "COMMAND")
				for _, t := range out.Terminals {
					state := string(t.Status)
					if t.ExitCode != nil {
						state += fmt.Sprintf(" (%d)", *t.ExitCode)
					}
					p.row(t.ID, t.Name, state, fmt.Sprintf("%dx%d", t.Size.Cols, t.Size.Rows), fmt.Sprint(t.Viewers), t.TaskID, short(t.Command, 60))
				}
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newTerminalOpen(g *globals) *cobra.Command {
	var create wire.TerminalCreate
	var attach bool
	cmd := &cobra.Command{
		Use: "open", Short: "Start a process on a new terminal of the hub", Args: cobra.NoArgs,
		Example: "  parley terminal open --attach\n  parley terminal open --name build --command 'make watch'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error {
				made, err := c.OpenTerminal(ctx, &create)
				if err != nil {
					return err
				}
				if attach {
					return g.attach(ctx, cmd, c, made.ID, false)
				}
				return g.show(cmd, map[string]string{"terminal_id": made.ID}, func(p *printer) { p.line(made.ID) })
			})
		},
	}
	cmd.Flags().StringVar(&create.Name, "name", "", "what to call it")
	cmd.Flags().StringVar(&create.Command, "command", "", "what to run (default: your shell)")
	cmd.Flags().StringVar(&create.CWD, "cwd", "", "where (default: the workspace)")
	cmd.Flags().BoolVar(&attach, "attach", false, "attach to it at once")
	return jsonFlag(cmd, g)
}

func newTerminalAttach(g *globals) *cobra.Command {
	var readOnly bool
	cmd := &cobra.Command{
		Use: "attach ID", Short: "Look at a terminal and type; Ctrl-] leaves", Args: exactly(1, "name one terminal; see 'parley terminal list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			scopes := []string{"*"}
			if readOnly {
				scopes = []string{"terminal:read"}
			}
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error { return g.attach(ctx, cmd, c, args[0], readOnly) }, scopes...)
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "only look")
	return cmd
}

func newTerminalClose(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "close ID", Short: "End a terminal's process", Args: exactly(1, "name one terminal; see 'parley terminal list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error {
				if _, err := c.CloseTerminal(ctx, args[0]); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "closed", args[0])
				return nil
			})
		},
	}
}

// attach joins this terminal with one of the hub's until that one ends, the
// connection does, or Ctrl-] is pressed. It leaves with the process's exit code.
func (g *globals) attach(ctx context.Context, cmd *cobra.Command, c *viber.Client, id string, readOnly bool) error {
	t, err := c.Attach(ctx, id)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	here, err := screen.Open(os.Stdin, os.Stdout)
	if err != nil {
		return err
	}
	defer here.Close()
	go typing(ctx, leave, t, cmd.InOrStdin(), readOnly)
	if !readOnly {
		here.Follow(ctx, func(rows, cols int) { _ = t.Resize(ctx, rows, cols) }) // a lost connection shows elsewhere
	}
	err = mirror(ctx, t, cmd.OutOrStdout(), here)
	if errors.Is(context.Cause(ctx), errLeave) {
		here.Close()
		fmt.Fprintln(cmd.ErrOrStderr(), "\nleft; the terminal goes on")
		return nil
	}
	return err
}

var errLeave = errors.New("left")

// typing sends what is typed, up to the key that leaves. Who only looks may leave with
// Ctrl-C and q, too: nothing else can be meant.
func typing(ctx context.Context, leave context.CancelCauseFunc, t *viber.Terminal, in io.Reader, readOnly bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		data := buf[:n]
		if readOnly {
			if bytes.ContainsAny(data, "\x1d\x03q") {
				leave(errLeave)
				return
			}
			if err != nil {
				return
			}
			continue
		}
		for i, b := range data {
			if b == leaveKey {
				_ = t.Input(ctx, string(data[:i])) // we leave anyway
				leave(errLeave)
				return
			}
		}
		if n > 0 && t.Input(ctx, string(data)) != nil || err != nil {
			return // the end of the input is not the end of the terminal
		}
	}
}

// mirror shows a terminal until its process ends.
func mirror(ctx context.Context, t *viber.Terminal, out io.Writer, here *screen.Screen) error {
	first := true
	for m, err := range t.Events(ctx) {
		if err != nil {
			return err
		}
		switch p := m.Body.(type) {
		case *wire.TerminalAttached:
			if !first && here.Raw() {
				fmt.Fprint(out, "\x1b[H\x1b[2J\x1b[3J") // all of it follows again
			}
			first = false
		case *wire.TerminalOutput:
			fmt.Fprint(out, p.Data)
		case *wire.TerminalError:
			fmt.Fprintf(out, "\r\n%s\r\n", p.Error.Message)
		case *wire.TerminalExit:
			if p.ExitCode != 0 {
				return &exitError{code: p.ExitCode}
			}
			return nil
		}
	}
	return nil
}
