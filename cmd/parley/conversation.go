package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/visible"
	"parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
)

func newConversation(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "conversation", Short: "Read, search, compact, export and import conversations", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var which address
	flags := cmd.PersistentFlags()
	flags.StringVar(&which.sender, "sender", "", "whose conversation (default: yours)")
	flags.StringVar(&which.thread, "thread", "", "which thread (default: the main one)")
	cmd.AddCommand(newConversationList(g, &which), newConversationShow(g, &which), newConversationHistory(g, &which), newConversationArchives(g, &which),
		newConversationSearch(g, &which), newConversationCompact(g, &which), newConversationExport(g, &which), newConversationImport(g, &which), newConversationShare(g, &which), newConversationShares(g), newConversationUnshare(g))
	return cmd
}

// address is which conversation a command is about.
type address struct{ sender, thread string }

// find is the conversation of an agent that the flags mean.
func (a address) find(ctx context.Context, c *hubapi.Client, agent string) (rest.Conversation, error) {
	found, err := hubapi.Call(ctx, c, rest.ListConversations, rest.ConversationQuery{Agent: agent, Sender: a.sender})
	if err != nil {
		return rest.Conversation{}, err
	}
	list := slices.DeleteFunc(found.Conversations, func(v rest.Conversation) bool { return v.Thread != a.thread })
	if a.sender == "" && len(list) > 1 {
		// Somebody who may see everybody's means their own.
		mine := slices.IndexFunc(list, func(v rest.Conversation) bool { return v.Sender == agentfirst.DefaultSender })
		if mine < 0 {
			return rest.Conversation{}, usageError("%s has conversations with several senders: name one with --sender", agent)
		}
		list = list[mine : mine+1]
	}
	if len(list) == 0 {
		return rest.Conversation{}, fmt.Errorf("no such conversation with %s; see 'parley conversation list'", agent)
	}
	return list[0], nil
}

// about is a command on one agent's conversation.
func (g *globals) about(which *address, body func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, v rest.Conversation) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
			v, err := which.find(ctx, c, args[0])
			if err != nil {
				return err
			}
			return body(ctx, cmd, c, v)
		})
	}
}

func newConversationList(g *globals, which *address) *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use: "list", Short: "List conversations, newest activity first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := ask(g, cmd, rest.ListConversations, rest.ConversationQuery{Agent: agent, Sender: which.sender})
			if err != nil {
				return err
			}
			return g.show(cmd, list.Conversations, func(p *printer) {
				p.table("AGENT", "SENDER", "THREAD", "MESSAGES", "LAST", "TITLE")
				for _, v := range list.Conversations {
					p.row(v.Agent, v.Sender, v.Thread, strconv.FormatInt(v.Messages, 10), v.Last.Local().Format("2006-01-02 15:04"), v.Title)
				}
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "only this agent's")
	return jsonFlag(cmd, g)
}

func newConversationShow(g *globals, which *address) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show AGENT", Short: "Show a conversation and what it has used", Args: cobra.ExactArgs(1),
		RunE: g.about(which, func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, v rest.Conversation) error {
			v, err := hubapi.Call(ctx, c, rest.GetConversation, rest.ByID{ID: v.ID})
			if err != nil {
				return err
			}
			return g.show(cmd, v, func(p *printer) {
				p.table("AGENT", "SENDER", "THREAD", "MESSAGES", "TOKENS", "COST", "TITLE")
				p.row(v.Agent, v.Sender, v.Thread, strconv.FormatInt(v.Messages, 10), strconv.FormatInt(v.Usage.Total, 10), costText(v.Usage), v.Title)
			})
		}),
	}
	return jsonFlag(cmd, g)
}

// costText is in dollars; what has no price is not left out silently.
func costText(u *rest.Usage) string {
	switch {
	case u.Cost == nil:
		return "unknown"
	case !u.CostKnown:
		return fmt.Sprintf("$%.4f and more", *u.Cost)
	}
	return fmt.Sprintf("$%.4f", *u.Cost)
}

func newConversationHistory(g *globals, which *address) *cobra.Command {
	var limit int
	var archived bool
	cmd := &cobra.Command{
		Use: "history AGENT", Short: "Show what was said", Args: cobra.ExactArgs(1),
		RunE: g.about(which, func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, v rest.Conversation) error {
			said, err := hubapi.Call(ctx, c, rest.ListMessages, rest.MessageQuery{ID: v.ID, Limit: limit, Archived: archived})
			if err != nil {
				return err
			}
			return g.show(cmd, said.Messages, func(p *printer) {
				for _, m := range said.Messages {
					p.message(m, v.Agent)
				}
			})
		}),
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many at the most")
	cmd.Flags().BoolVar(&archived, "archived", false, "from the beginning, instead of what the agent sees now")
	return jsonFlag(cmd, g)
}

// message prints one message with its speaker.
func (p *printer) message(m rest.Message, agent string) {
	speaker := m.Role
	switch {
	case m.Summary:
		speaker = "(summary of what came before)"
	case m.Agent != "":
		speaker = m.Agent
	case m.Role == "assistant":
		speaker = agent
	}
	stamp := ""
	if !m.At.IsZero() {
		stamp = m.At.Local().Format("2006-01-02 15:04") + "  "
	}
	p.line(stamp + visible.Line(speaker))
	for line := range strings.Lines(m.Content) {
		p.line("  " + visible.Line(strings.TrimRight(line, "\n")))
	}
	if text := agentfirst.OutcomeText(m.Outcome, m.OutcomeCode); text != "" {
		p.line("  [" + visible.Line(text) + "]")
	}
	p.line("")
}

func newConversationArchives(g *globals, which *address) *cobra.Command {
	var redo bool
	var focus string
	cmd := &cobra.Command{
		Use: "archives AGENT [ID]", Short: "List a conversation's archives, or show one", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if redo && len(args) == 1 {
				return usageError("say which archive to summarise again: parley conversation archives %s ID --redo", args[0])
			}
			if len(args) == 1 {
				return g.about(which, g.listArchives)(cmd, args)
			}
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				if redo {
					if _, err := hubapi.Call(ctx, c, rest.RedoArchive, rest.Summary{ID: args[1], Body: rest.Focus{Focus: focus}}); err != nil {
						return err
					}
				}
				return g.showArchive(ctx, cmd, c, args[1])
			})
		},
	}
	cmd.Flags().BoolVar(&redo, "redo", false, "summarise the archive again from its raw messages first")
	cmd.Flags().StringVar(&focus, "focus", "", "what the new summary should keep in particular")
	return jsonFlag(cmd, g)
}

func (g *globals) listArchives(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, v rest.Conversation) error {
	list, err := hubapi.Call(ctx, c, rest.ListArchives, rest.ArchiveQuery{ID: v.ID})
	if err != nil {
		return err
	}
	return g.show(cmd, list.Archives, func(p *printer) {
		p.table("ID", "ARCHIVED", "MESSAGES", "TITLE")
		for _, a := range list.Archives {
			p.row(a.ID, a.ArchivedAt, strconv.FormatInt(a.Messages, 10), a.Title)
		}
	})
}

func (g *globals) showArchive(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, id string) error {
	page, err := hubapi.Call(ctx, c, rest.GetArchive, rest.ArchivePageQuery{ID: id})
	if err != nil {
		return err
	}
	return g.show(cmd, page, func(p *printer) {
		p.line(visible.Line(page.Title))
		p.line("")
		p.message(rest.Message{Content: page.Summary, Summary: true}, page.Agent)
		for _, m := range page.List {
			p.message(m, page.Agent)
		}
		if page.Truncated {
			p.note("there is more: export the conversation for all of it")
		}
	})
}

func newConversationSearch(g *globals, which *address) *cobra.Command {
	var agent string
	var limit int
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Find messages, archives and notes", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := ask(g, cmd, rest.SearchConversations, rest.SearchQuery{
				Text: strings.Join(args, " "), Agent: agent, Sender: which.sender, Thread: which.thread, Limit: limit,
			})
			if err != nil {
				return err
			}
			return g.show(cmd, found.Hits, func(p *printer) {
				for _, h := range found.Hits {
					p.hit(h)
				}
				if len(found.Hits) == 0 {
					p.note("nothing found")
				}
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "only this agent's memory")
	cmd.Flags().IntVarP(&limit, "limit", "n", 10, "how many at the most, up to 20")
	return jsonFlag(cmd, g)
}

func (p *printer) hit(h rest.Hit) {
	where := h.Agent + " with " + h.Sender
	if h.Thread != "" {
		where += " in " + h.Thread
	}
	p.line(visible.Line(fmt.Sprintf("%s  %s  %s %s", h.At.Local().Format("2006-01-02 15:04"), where, h.Kind, orText(h.Speaker, h.Role))))
	p.line("  " + visible.Line(h.Snippet))
	p.line("")
}

func newConversationCompact(g *globals, which *address) *cobra.Command {
	var focus string
	cmd := &cobra.Command{
		Use: "compact AGENT", Short: "Archive the conversation so far behind a summary", Args: cobra.ExactArgs(1),
		RunE: g.about(which, func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, v rest.Conversation) error {
			a, err := hubapi.Call(ctx, c, rest.CompactConversation, rest.Summary{ID: v.ID, Body: rest.Focus{Focus: focus}})
			if err != nil {
				return err
			}
			return g.show(cmd, a, func(p *printer) {
				p.line(visible.Line(a.Summary))
				p.note("archived %d messages as %q (%s)", a.Messages, a.Title, a.ID)
			})
		}),
	}
	cmd.Flags().StringVar(&focus, "focus", "", "what the summary should keep in particular")
	return jsonFlag(cmd, g)
}

func newConversationExport(g *globals, which *address) *cobra.Command {
	var out string
	var all bool
	cmd := &cobra.Command{
		Use: "export AGENT | --all", Short: "Write a conversation as JSON lines", Args: cobra.MaximumNArgs(1),
		Example: "  parley conversation export parley -o parley.jsonl\n  parley conversation export --all -o backup/",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && (len(args) > 0 || out == ""):
				return usageError("--all takes no agent, and a folder with -o")
			case !all && len(args) == 0:
				return usageError("name an agent, or give --all")
			case all:
				return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error { return exportAll(ctx, cmd, c, out) })
			}
			return g.about(which, func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, v rest.Conversation) error {
				return toFile(out, cmd.OutOrStdout(), func(w io.Writer) error { return hubapi.Copy(ctx, c, w, rest.ExportConversation, rest.ByID{ID: v.ID}) })
			})(cmd, args)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: standard output); with --all a folder")
	cmd.Flags().BoolVar(&all, "all", false, "every conversation you may see, a file each")
	return cmd
}

func exportAll(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	list, err := hubapi.Call(ctx, c, rest.ListConversations, rest.ConversationQuery{})
	if err != nil {
		return err
	}
	for _, v := range list.Conversations {
		file := filepath.Join(dir, exportName(v))
		err := toFile(file, nil, func(w io.Writer) error { return hubapi.Copy(ctx, c, w, rest.ExportConversation, rest.ByID{ID: v.ID}) })
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "wrote", file)
	}
	return nil
}

// exportName is for people; what a file is says its first line.
func exportName(v rest.Conversation) string {
	safe := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '_'
		}, s)
	}
	parts := []string{v.Agent, safe(v.Sender)}
	if v.Thread != "" {
		parts = append(parts, safe(v.Thread))
	}
	return strings.Join(append(parts, v.ID), ".") + ".jsonl"
}

func newConversationImport(g *globals, which *address) *cobra.Command {
	var to rest.ConversationImport
	cmd := &cobra.Command{
		Use: "import FILE...", Short: "Store conversations from JSON lines", Args: cobra.MinimumNArgs(1),
		Long: "Stores each file as a conversation. Agent and sender are the file's own unless\nyou name others. A conversation that has messages already needs --thread or --append.",
		RunE: func(cmd *cobra.Command, args []string) error {
			to.Sender, to.Thread = which.sender, which.thread
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error { return g.importFiles(ctx, cmd, c, args, to) })
		},
	}
	cmd.Flags().StringVar(&to.Agent, "agent", "", "store it as this agent's")
	cmd.Flags().BoolVar(&to.Append, "append", false, "add to a conversation that has messages")
	cmd.Flags().BoolVar(&to.DryRun, "dry-run", false, "only say what would be stored")
	return jsonFlag(cmd, g)
}

func (g *globals) importFiles(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, files []string, to rest.ConversationImport) error {
	var all []rest.Imported
	var stored []string
	var failed []error
	for _, name := range files {
		done, err := importFile(ctx, c, name, to)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		all, stored = append(all, done), append(stored, name)
	}
	err := g.show(cmd, all, func(p *printer) {
		for i, d := range all {
			verb := "imported"
			if d.DryRun {
				verb = "would import"
			}
			p.line(visible.Line(fmt.Sprintf("%s: %s %d messages and %d archives for %s with %s, %d lines skipped",
				filepath.Base(stored[i]), verb, d.Messages, d.Archives, d.Agent, d.Sender, d.Skipped)))
		}
	})
	return errors.Join(append(failed, err)...)
}

// importFile stores one file. One that cannot be stored does not keep the others out.
func importFile(ctx context.Context, c *hubapi.Client, name string, to rest.ConversationImport) (rest.Imported, error) {
	f, err := os.Open(name)
	if err != nil {
		return rest.Imported{}, err
	}
	defer func() { _ = f.Close() }()
	to.Body = f
	return hubapi.Call(ctx, c, rest.ImportConversation, to)
}
