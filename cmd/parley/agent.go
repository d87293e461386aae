package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/protocol/rest"
)

func newAgent(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agent", Short: "List, make, show, edit and remove agents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAgentList(g), newAgentNew(g), newAgentShow(g), newAgentEdit(g), newAgentRemove(g))
	return cmd
}

func newAgentList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List agents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := ask(g, cmd, rest.ListAgents, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, list.Agents, func(p *printer) {
				p.table("NAME", "MODEL", "TOOLS", "DESCRIPTION")
				for _, a := range list.Agents {
					p.row(a.Text("name"), orText(a.Text("model"), "(default)"), words(a["tools"]), orText(a.Text("error"), a.Text("description")))
				}
			})
		},
	}
	return jsonFlag(cmd, g)
}

func orText(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// words is a list of names on one line.
func words(v any) string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return strings.Join(out, " ")
}

func newAgentNew(g *globals) *cobra.Command {
	var model, prompt, file string
	var tools []string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make an agent", Args: cobra.ExactArgs(1),
		Example: "  parley agent new scout --prompt 'You look things up and cite them.' --tools web,recall\n  parley agent new scout --file scout.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" && (model != "" || prompt != "" || len(tools) > 0) {
				return usageError("--file has everything in it: leave the other flags out")
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				made, err := makeAgent(ctx, c, args[0], file, model, prompt, tools, cmd.InOrStdin())
				if err != nil {
					return err
				}
				return g.show(cmd, made, func(p *printer) {
					p.line("made " + made.Text("name"))
					p.note("talk to it with 'parley chat %s', change it with 'parley agent edit %s'", made.Text("name"), made.Text("name"))
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&model, "model", "", "its model, as provider:name (default: the hub's)")
	flags.StringVar(&prompt, "prompt", "", "what it is told about itself")
	flags.StringSliceVar(&tools, "tools", nil, "names and groups of tools")
	flags.StringVar(&file, "file", "", "a whole agent file; - for standard input")
	return jsonFlag(cmd, g)
}

func makeAgent(ctx context.Context, c *hubapi.Client, name, file, model, prompt string, tools []string, in io.Reader) (rest.Agent, error) {
	if file == "" {
		agent := rest.Agent{"name": name, "prompt": prompt}
		if model != "" {
			agent["model"] = model
		}
		if len(tools) > 0 {
			agent["tools"] = tools
		}
		return hubapi.Call(ctx, c, rest.CreateAgent, agent)
	}
	text, err := readText(file, in)
	if err != nil {
		return nil, err
	}
	// The name must be free: --file is no way to overwrite an agent.
	if _, err := hubapi.Call(ctx, c, rest.GetAgent, rest.ByName{Name: name}); err == nil {
		return nil, fmt.Errorf("an agent %s exists: use 'parley agent edit %s'", name, name)
	} else if !hubapi.IsCode(err, "agent_not_found") {
		return nil, err
	}
	return hubapi.Call(ctx, c, rest.PutAgentFile, rest.AgentFileChange{Name: name, Body: strings.NewReader(text)})
}

func readText(file string, in io.Reader) (string, error) {
	if file == "-" {
		text, err := io.ReadAll(in)
		return string(text), err
	}
	text, err := os.ReadFile(file)
	return string(text), err
}

func newAgentShow(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show an agent's file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				if g.json {
					agent, err := hubapi.Call(ctx, c, rest.GetAgent, rest.ByName{Name: args[0]})
					if err != nil {
						return err
					}
					return g.show(cmd, agent, nil)
				}
				text, err := agentFile(ctx, c, args[0])
				if err != nil {
					return err
				}
				fmt.Fprint(cmd.OutOrStdout(), text)
				return nil
			})
		},
	}
	return jsonFlag(cmd, g)
}

func newAgentEdit(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "edit NAME", Short: "Edit an agent's file with $EDITOR", Args: cobra.ExactArgs(1),
		Long: "Opens the agent's file in $VISUAL or $EDITOR. A file with a mistake is not\nstored: what is wrong is shown, and your text is kept so that nothing is lost.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				return editAgent(ctx, cmd, c, args[0])
			})
		},
	}
}

// agentFile is an agent's file as it is.
func agentFile(ctx context.Context, c *hubapi.Client, name string) (string, error) {
	var text strings.Builder
	err := hubapi.Copy(ctx, c, &text, rest.AgentFile, rest.ByName{Name: name})
	return text.String(), err
}

func editAgent(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, name string) error {
	text, err := agentFile(ctx, c, name)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "parley-agent-*")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, name+".md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if err := runEditor(ctx, cmd, file); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	changed, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if string(changed) == text {
		fmt.Fprintln(cmd.ErrOrStderr(), "nothing changed")
		return os.RemoveAll(dir)
	}
	if _, err := hubapi.Call(ctx, c, rest.PutAgentFile, rest.AgentFileChange{Name: name, Body: bytes.NewReader(changed)}); err != nil {
		return fmt.Errorf("%w; your text is in %s", err, file)
	}
	fmt.Fprintln(cmd.OutOrStdout(), "saved", name)
	return os.RemoveAll(dir)
}

// runEditor opens a file in the user's editor. The variable may hold arguments,
// as in "code --wait".
func runEditor(ctx context.Context, cmd *cobra.Command, file string) error {
	words := strings.Fields(firstOf(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	editor := exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	editor.Stdin, editor.Stdout, editor.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := editor.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w", words[0], err)
	}
	return nil
}

func newAgentRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove an agent; its conversations stay", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := ask(g, cmd, rest.RemoveAgent, rest.ByName{Name: args[0]}); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "removed", args[0])
			return nil
		},
	}
}
