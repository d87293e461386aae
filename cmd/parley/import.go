package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/elsewhere"
	"parley.internal/internal/visible"
	"parley.internal/protocol/agentfirst"
	"parley.internal/protocol/rest"
)

// newImport takes conversations over that other programs kept.
func newImport(g *globals) *cobra.Command {
	var to rest.ConversationImport
	cmd := &cobra.Command{
		Use: "import FILE|FOLDER...", Short: "Take conversations over from other programs", Args: cobra.MinimumNArgs(1),
		Long: `Reads what other programs keep or export and stores each conversation in a thread
of its own, where the agent can recall it:

  export.zip            an export of ChatGPT or of Claude as it was downloaded
  conversations.json    the same, unpacked
  ~/.claude/projects    histories of Claude Code
  ~/.openclaw           sessions of OpenClaw
  sessions/             session files of the agent-first protocol

Only what was said is taken, no tool output. A conversation that is here already is left
alone. --dry-run says what would be stored, and stores nothing.`,
		Example: "  parley import conversations.json --dry-run\n  parley import ~/.claude/projects --agent parley",
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				return (&taking{g: g, cmd: cmd, client: c, to: to}).all(ctx, args)
			})
		},
	}
	cmd.Flags().StringVar(&to.Agent, "agent", "parley", "whose memory it becomes")
	cmd.Flags().StringVar(&to.Sender, "sender", "", "whose conversations they were (default: yours)")
	cmd.Flags().BoolVar(&to.DryRun, "dry-run", false, "only say what would be stored")
	return jsonFlag(cmd, g)
}

// taken is what became of one conversation.
type taken struct {
	File     string `json:"file"`
	Kind     string `json:"kind"`
	Title    string `json:"title"`
	Thread   string `json:"thread,omitempty"`
	Messages int    `json:"messages"`
	Skipped  int    `json:"skipped"`
	Outcome  string `json:"outcome"`
	Error    string `json:"error,omitempty"`
}

// taking is an import under way.
type taking struct {
	g      *globals
	cmd    *cobra.Command
	client *hubapi.Client
	to     rest.ConversationImport
	done   []taken
	failed int
}

func (t *taking) all(ctx context.Context, paths []string) error {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			// In a folder only what may be a conversation is opened; a file that was named is.
			if entry.Type().IsRegular() && (file == path || strings.HasSuffix(file, ".jsonl") || filepath.Base(file) == "conversations.json") {
				t.file(ctx, file)
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	err := t.g.show(t.cmd, t.done, func(p *printer) {
		p.table("OUTCOME", "FROM", "MESSAGES", "SKIPPED", "THREAD", "TITLE")
		for _, d := range t.done {
			p.row(d.Outcome, d.Kind, fmt.Sprint(d.Messages), fmt.Sprint(d.Skipped), d.Thread, short(orText(d.Title, filepath.Base(d.File)), 60))
			if d.Error != "" {
				p.note("%s: %s", visible.Line(d.File), visible.Line(d.Error))
			}
		}
	})
	if err == nil && t.failed > 0 {
		err = &exitError{exitFailed, fmt.Sprintf("%d could not be stored", t.failed)}
	}
	return err
}

func (t *taking) file(ctx context.Context, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.note(taken{File: name}, err)
		return
	}
	defer func() { _ = f.Close() }()
	if !elsewhere.IsArchive(f) {
		t.source(ctx, name, func() (io.ReadCloser, error) { return os.Open(name) })
		return
	}
	info, err := f.Stat()
	if err != nil {
		t.note(taken{File: name}, err)
		return
	}
	for entry, err := range elsewhere.Archive(f, info.Size()) {
		if err != nil {
			t.note(taken{File: name}, err)
			return
		}
		t.source(ctx, name+": "+entry.Name, entry.Open)
	}
}

// source takes the conversations of one file, or of one in an archive.
func (t *taking) source(ctx context.Context, name string, open func() (io.ReadCloser, error)) {
	kind, err := kindOf(open)
	if err != nil {
		t.note(taken{File: name}, err)
		return
	}
	f, err := open()
	if err != nil {
		t.note(taken{File: name}, err)
		return
	}
	defer func() { _ = f.Close() }()
	if kind == elsewhere.Session {
		t.session(ctx, name, f)
		return
	}
	for c, err := range elsewhere.Read(f) {
		if err != nil {
			t.note(taken{File: name, Kind: string(kind)}, err)
			return
		}
		t.conversation(ctx, name, c)
	}
}

func kindOf(open func() (io.ReadCloser, error)) (elsewhere.Kind, error) {
	f, err := open()
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return elsewhere.KindOf(f)
}

// session stores a file that hubs import as it is: it says itself whose it is.
func (t *taking) session(ctx context.Context, name string, f io.Reader) {
	to := t.to
	to.Agent = ""
	to.Body = f
	done, err := hubapi.Call(ctx, t.client, rest.ImportConversation, to)
	t.note(taken{File: name, Kind: string(elsewhere.Session), Messages: done.Messages, Skipped: done.Skipped}, err)
}

func (t *taking) conversation(ctx context.Context, name string, c *elsewhere.Conversation) {
	d := taken{File: name, Kind: string(c.Kind), Title: c.Title, Thread: c.Thread(), Messages: len(c.Messages), Skipped: c.Skipped}
	if len(c.Messages) == 0 {
		d.Outcome = "empty"
		t.done = append(t.done, d)
		return
	}
	var lines bytes.Buffer
	err := c.Write(&lines, t.to.Agent, orText(t.to.Sender, agentfirst.DefaultSender))
	if err == nil {
		to := t.to
		to.Thread = d.Thread
		to.Body = &lines
		_, err = hubapi.Call(ctx, t.client, rest.ImportConversation, to)
	}
	t.note(d, err)
}

// note says what became of one. One that is here already is no failure.
func (t *taking) note(d taken, err error) {
	switch {
	case err == nil && t.to.DryRun:
		d.Outcome = "would import"
	case err == nil:
		d.Outcome = "imported"
	case hubapi.IsCode(err, "conflict"):
		d.Outcome = "here already"
	default:
		d.Outcome, d.Error = "failed", err.Error()
		t.failed++
	}
	t.done = append(t.done, d)
}
