package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/client/viber"
	"parley.internal/cmd/internal/cli"
	"parley.internal/protocol/rest"
	wire "parley.internal/protocol/viber"
)

func newTask(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "task", Short: "Hand an agent a goal, watch it, correct it, stop it", Args: cobra.NoArgs,
		Long: `Hand an agent a goal, watch it, correct it, stop it.

Exit codes: 0 completed, 1 failed, 2 usage, 3 stopped, 4 no connection or not
allowed in, 5 a person must approve something and --no-wait was given.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTaskSubmit(g), newTaskWatch(g), newTaskStop(g), newTaskMessage(g), newTaskList(g), newTaskShow(g))
	return cmd
}

// submitFlags are the flags of task submit.
type submitFlags struct {
	agent, mode, key, plan, memory string
	timeout                        time.Duration
	maxTokens                      int64
	budget                         float64
	artifacts, attached            []string
	watch, noWait                  bool

	approvalTimeout              time.Duration
	onApprovalTimeout, onRestart string
	folder                       string
	maxSteps                     int64
	exclusive                    bool
}

func newTaskSubmit(g *globals) *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use: "submit GOAL", Short: "Start a task; with --watch, follow it to its end", Args: exactly(1, "say what the task is to achieve"),
		Example: "  parley task submit 'Run the tests and fix what fails' --watch\n  parley task submit 'Tidy the downloads' --mode always_ask --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			submit, err := f.submit(args[0])
			if err != nil {
				return err
			}
			if err := g.handOver(cmd, submit, f.attached); err != nil {
				return err
			}
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error { return g.submit(ctx, cmd, c, submit, f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "who does it (default parley)")
	flags.StringVar(&f.mode, "mode", "", "what asks first: always_ask, agent_decides or always_execute")
	flags.StringVar(&f.key, "key", "", "the same key is the same task, however often it is submitted")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long it may take, such as 5m")
	flags.Int64Var(&f.maxTokens, "max-tokens", 0, "how many tokens it may write")
	flags.Float64Var(&f.budget, "budget", 0, "how many US dollars it may cost")
	flags.StringVar(&f.plan, "plan", "", "a file with a plan: Markdown, or JSON with goal and steps")
	flags.StringArrayVar(&f.artifacts, "artifact", nil, "a file of the workspace, or a web address, to look at")
	flags.StringArrayVar(&f.attached, "attach", nil, "a picture, PDF or voice note of this machine to show to the agent (may be given several times)")
	flags.StringVar(&f.memory, "memory", "", "a file with what the agent should remember")
	flags.DurationVar(&f.approvalTimeout, "approval-timeout", 0, "how long a question waits, such as 12h (default 7 days)")
	flags.StringVar(&f.onApprovalTimeout, "on-approval-timeout", "", "what follows then: reject (the default) or fail")
	flags.Int64Var(&f.maxSteps, "max-steps", 0, "how many model calls a turn may take (default 25)")
	flags.BoolVar(&f.exclusive, "exclusive", false, "wait for other exclusive tasks in the workspace, and keep them out")
	flags.StringVar(&f.onRestart, "on-restart", "", "when the hub restarts: continue (the default) or fail")
	flags.StringVarP(&f.folder, "folder", "C", "", "where in the workspace it works")
	flags.BoolVar(&f.watch, "watch", false, "show what it does until it ends")
	flags.BoolVar(&f.noWait, "no-wait", false, "follow it, but leave with 5 when a person must approve something")
	return jsonFlag(cmd, g)
}

func newRun(g *globals) *cobra.Command {
	var f submitFlags
	var goal string
	cmd := &cobra.Command{
		Use: "run AGENT", Short: "Run a coding agent you already have, such as claude or opencode, as a task",
		Args: exactly(1, "name the agent: claude, codex, gemini, opencode, qwen, or one of your own"),
		Long: `Run a coding agent you already have as a task: in the box, with your workspace, its
questions in your inbox. Leaving with Ctrl-C leaves it running; see 'parley task'.

Agents are started as a file foreign/AGENT.yaml in the data folder of the hub says. claude,
codex, gemini, opencode and qwen need none. Exit codes are those of 'parley task'.`,
		Example: "  parley run opencode --task 'Fix the failing test'\n  parley run claude -C src/app < goal.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if goal == "" {
				said, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), wire.MaxGoal+1))
				if err != nil {
					return err
				}
				goal = strings.TrimSpace(string(said))
			}
			if goal == "" {
				return usageError("say what it is to do, with --task or on standard input")
			}
			f.agent, f.watch = args[0], true
			submit, err := f.submit(goal)
			if err != nil {
				return err
			}
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error { return g.submit(ctx, cmd, c, submit, f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&goal, "task", "", "what it is to do (default: what standard input says)")
	flags.StringVarP(&f.folder, "folder", "C", "", "where in the workspace it works")
	flags.StringVar(&f.mode, "mode", "", "what asks first: always_ask, agent_decides or always_execute")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long it may take, such as 2h")
	flags.Float64Var(&f.budget, "budget", 0, "how many US dollars it may cost")
	flags.BoolVar(&f.noWait, "no-wait", false, "leave with 5 when a person must approve something")
	return jsonFlag(cmd, g)
}

// submit makes the request of the flags.
func (f submitFlags) submit(goal string) (*wire.TaskSubmit, error) {
	mode, ok := wire.ParseMode(f.mode)
	if !ok {
		return nil, usageError("--mode is always_ask, agent_decides or always_execute")
	}
	if f.timeout < 0 || f.maxTokens < 0 || f.budget < 0 || f.approvalTimeout < 0 || f.maxSteps < 0 {
		return nil, usageError("--timeout, --max-tokens, --budget, --approval-timeout and --max-steps are above 0")
	}
	s := &wire.TaskSubmit{
		IdempotencyKey: f.key, Goal: goal, Messages: []wire.ChatMessage{},
		Options: &wire.TaskOptions{
			Mode: mode, StreamDeltas: true, MaxTokens: f.maxTokens, TimeoutMS: f.timeout.Milliseconds(), Agent: f.agent, BudgetUSD: f.budget,
			ApprovalTimeoutMS: f.approvalTimeout.Milliseconds(), OnApprovalTimeout: f.onApprovalTimeout, MaxSteps: f.maxSteps, Exclusive: f.exclusive, OnRestart: f.onRestart, Folder: f.folder,
		},
	}
	for i, ref := range f.artifacts {
		s.Artifacts = append(s.Artifacts, wire.Artifact{ID: strconv.Itoa(i + 1), Ref: ref})
	}
	if f.memory != "" {
		text, err := os.ReadFile(f.memory)
		if err != nil {
			return nil, usageError("--memory: %v", err)
		}
		s.Memory = string(text)
	}
	if f.plan != "" {
		text, err := os.ReadFile(f.plan)
		if err != nil {
			return nil, usageError("--plan: %v", err)
		}
		s.Plan = planOf(text)
	}
	return s, nil
}

// handOver puts files into the hub and names them in the submit.
func (g *globals) handOver(cmd *cobra.Command, s *wire.TaskSubmit, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
		for _, path := range paths {
			f, err := putFile(ctx, c, path)
			if err != nil {
				return fmt.Errorf("%s was not attached: %w", path, err)
			}
			s.Artifacts = append(s.Artifacts, wire.Artifact{ID: strconv.Itoa(len(s.Artifacts) + 1), Title: f.GetName(), Type: wire.ArtifactFile, Ref: wire.FileRef(f.GetDigest())})
		}
		return nil
	})
}

// planOf reads steps where there are some, else text.
func planOf(text []byte) *wire.Plan {
	var steps wire.StructuredPlan
	if json.Unmarshal(text, &steps) == nil && len(steps.Steps) > 0 {
		return &wire.Plan{Steps: &steps}
	}
	return &wire.Plan{Markdown: string(text)}
}

func (g *globals) submit(ctx context.Context, cmd *cobra.Command, c *viber.Client, s *wire.TaskSubmit, f submitFlags) error {
	task, err := c.Submit(ctx, s)
	if e, ok := alreadyRunning(err); ok {
		fmt.Fprintf(cmd.ErrOrStderr(), "parley: this key's task is in progress: %s\n", e.TaskID)
		task, err = c.Follow(ctx, e.TaskID, 0)
	}
	if err != nil {
		return err
	}
	if f.watch || f.noWait {
		if !g.json {
			fmt.Fprintf(cmd.ErrOrStderr(), "task %s\n", task.ID())
		}
		return g.watch(ctx, cmd, c, task, f.noWait)
	}
	return g.show(cmd, map[string]string{"task_id": task.ID()}, func(p *printer) { p.line(task.ID()) })
}

func newTaskWatch(g *globals) *cobra.Command {
	var after int64
	var noWait bool
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Show what a task does until it ends", Args: exactly(1, "name one task; see 'parley task list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error {
				task, err := c.Follow(ctx, args[0], after)
				if err != nil {
					return err
				}
				return g.watch(ctx, cmd, c, task, noWait)
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "begin after this event")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "leave with 5 when a person must approve something")
	return jsonFlag(cmd, g)
}

func newTaskStop(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "stop ID", Short: "End a task now", Args: exactly(1, "name one task; see 'parley task list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error {
				if err := c.Stop(ctx, args[0], reason); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), "stopped", args[0])
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}

func newTaskMessage(g *globals) *cobra.Command {
	var steer, followup, collect bool
	cmd := &cobra.Command{
		Use: "message ID TEXT", Short: "Say something to a running task", Args: exactly(2, "name the task and say what"),
		RunE: func(cmd *cobra.Command, args []string) error {
			mode := wire.Followup
			switch {
			case steer && (followup || collect), followup && collect:
				return usageError("choose one of --steer, --followup and --collect")
			case steer:
				mode = wire.Steer
			case collect:
				mode = wire.Collect
			}
			return g.withBoard(cmd, func(ctx context.Context, c *viber.Client) error {
				ack, err := c.Message(ctx, args[0], args[1], mode)
				if err != nil {
					return err
				}
				return g.show(cmd, ack, func(p *printer) { p.line(string(ack.Disposition) + " " + ack.MessageID) })
			})
		},
	}
	cmd.Flags().BoolVar(&steer, "steer", false, "now: what the agent is writing is cut short")
	cmd.Flags().BoolVar(&followup, "followup", false, "after what it is doing (the default)")
	cmd.Flags().BoolVar(&collect, "collect", false, "together with other such messages, when it has time")
	return jsonFlag(cmd, g)
}

func newTaskList(g *globals) *cobra.Command {
	var status string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := askBoard(g, cmd, rest.ListTasks, rest.TaskQuery{Status: status, Limit: limit})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Tasks, func(p *printer) {
				p.table("ID", "STATUS", "AGENT", "STARTED", "GOAL")
				for _, t := range out.Tasks {
					state := string(t.Status)
					if t.PendingApprovals > 0 {
						state += fmt.Sprintf(" (%d to approve)", t.PendingApprovals)
					}
					p.row(t.TaskID, state, t.Agent, t.StartedAt.Local().Format("2006-01-02 15:04"), short(t.Goal, 60))
				}
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only running, paused, completed, failed or stopped ones")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many at most (200)")
	return jsonFlag(cmd, g)
}

// exactly is how many arguments a command has, and what to say otherwise.
func exactly(n int, otherwise string) cobra.PositionalArgs {
	return cli.Exactly(n, otherwise)
}
