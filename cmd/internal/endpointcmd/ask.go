package endpointcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/cmd/internal/cli"
	"parley.internal/internal/endpoint"
	"parley.internal/internal/endpoint/control"
	"parley.internal/internal/visible"
)

func newAsk() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "ask", Short: "Be asked before anything changes this machine", Args: cobra.NoArgs,
		Long: `Have everything that changes this machine wait for you, from the next request on,
also what was approved at the hub. Answer with 'parley endpoint approvals --watch'
or approve and reject; what nobody answers within two minutes does not run.
'parley endpoint on' ends the asking: for you, and for administrators.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return turn(cmd, state, control.Asking) },
	}
	stateFlag(cmd, &state)
	return cmd
}

func newApprovals() *cobra.Command {
	var state string
	var watch, asJSON bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "List what waits for your word at this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return watchQuestions(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), state)
			}
			list, err := endpoint.Waiting(cmd.Context(), state)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, list)
			}
			return printQuestions(cmd, list)
		},
	}
	stateFlag(cmd, &state)
	cmd.Flags().BoolVar(&watch, "watch", false, "stay, and ask here as questions come")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printQuestions(cmd *cobra.Command, list []control.Question) error {
	if len(list) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "nothing waits")
	}
	tab := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "N\tTOOL\tUNTIL\tARGUMENTS")
	for _, q := range list {
		fmt.Fprintf(tab, "%d\t%s\t%s\t%s\n", q.N, visible.Line(q.Tool), q.Until.Local().Format(time.TimeOnly), shownArguments(q))
	}
	return tab.Flush()
}

func shownArguments(q control.Question) string {
	if len(q.Arguments) == 0 {
		return "(only for the one who wants to be asked, and administrators)"
	}
	return visible.Line(string(q.Arguments))
}

func newDecide(yes bool) *cobra.Command {
	var state string
	use, short := "approve N", "Let a question's call run"
	if !yes {
		use, short = "reject N", "Refuse a question's call"
	}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cli.Exactly(1, "name the question by its number, from 'parley endpoint approvals'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 {
				return cli.Usage("a question's number is 1 or more, not %q", args[0])
			}
			return endpoint.Decide(cmd.Context(), state, n, yes)
		},
	}
	stateFlag(cmd, &state)
	return cmd
}

// lookEvery is how often the watching person's screen is brought up to date.
const lookEvery = 500 * time.Millisecond

// watchQuestions shows questions as they come and takes y or n for the oldest.
func watchQuestions(ctx context.Context, in io.Reader, out io.Writer, state string) error {
	fmt.Fprintln(out, "waiting for questions; ctrl-c ends")
	lines := readLines(ctx, in)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var shown control.Question
	for {
		list, err := endpoint.Waiting(ctx, state)
		if err != nil {
			return err
		}
		shown = showOldest(out, list, shown)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if err := answerOldest(ctx, out, state, shown, line); err != nil {
				return err
			}
		}
	}
}

// showOldest prints the question to answer, once, and says when it went away.
func showOldest(out io.Writer, list []control.Question, shown control.Question) control.Question {
	var oldest control.Question
	if len(list) > 0 {
		oldest = list[0]
	}
	if shown.N == oldest.N {
		return shown
	}
	if shown.N != 0 {
		fmt.Fprintf(out, "question %d is over\n", shown.N)
	}
	if oldest.N != 0 {
		fmt.Fprintf(out, "%d: %s %s\n   run it? y or n, until %s: ", oldest.N, oldest.Tool, shownArguments(oldest), oldest.Until.Local().Format(time.TimeOnly))
	}
	return oldest
}

// answerOldest takes a line typed under a question. Only a plain y is a yes.
func answerOldest(ctx context.Context, out io.Writer, state string, q control.Question, line string) error {
	word := strings.ToLower(strings.TrimSpace(line))
	if q.N == 0 || word == "" {
		return nil
	}
	err := endpoint.Decide(ctx, state, q.N, word == "y" || word == "yes")
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		fmt.Fprintln(out, err)
		return nil
	}
	return err
}

// readLines gives the lines of an input until it or ctx ends.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
