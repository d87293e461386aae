package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

func newApprovals(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "See and answer what waits for you", Args: cobra.NoArgs,
		Long: `What waits for a person before it happens, and the answers.

  parley approvals list                       in one line each
  parley approvals show ID                    all of one: what exactly, who wants it, by what
  parley approvals approve ID                 allow it
  parley approvals approve ID --answer TEXT   answer a question, once per question
  parley approvals reject ID                  refuse it

The token that asked, and whatever it made, does not answer: use the page, or a token of
another device of yours.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newApprovalsList(g), newApprovalsShow(g), newApprove(g), newReject(g))
	return cmd
}

// waiting is a question in the hub's inbox.
type waiting struct {
	ID          string          `json:"id"`
	Kind        string          `json:"kind"`
	Title       string          `json:"title,omitempty"`
	Tool        string          `json:"tool,omitempty"`
	Arguments   json.RawMessage `json:"arguments"`
	Target      string          `json:"target,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	RequestedBy string          `json:"requested_by,omitempty"`
	OnBehalfOf  string          `json:"on_behalf_of,omitempty"`
	Asker       *waitingAsker   `json:"asker,omitempty"`
	Machines    []string        `json:"machines,omitempty"`
	Tainted     *waitingTaint   `json:"tainted,omitempty"`
	NotAsker    bool            `json:"not_asker,omitempty"`
	Quorum      int             `json:"quorum,omitempty"`
	Task        string          `json:"task_id,omitempty"`
	Questions   []askedQuestion `json:"questions,omitempty"`
	Created     time.Time       `json:"created_at"`
	Expires     time.Time       `json:"expires_at"`
	Outcome     string          `json:"outcome"`
	By          string          `json:"by,omitempty"`
	Answer      string          `json:"answer_reason,omitempty"`
}

// waitingAsker is who wants it, and how they came to the hub.
type waitingAsker struct {
	Person  string `json:"person,omitempty"`
	Via     string `json:"via,omitempty"`
	Token   string `json:"token_id,omitempty"`
	Client  string `json:"mcp_client,omitempty"`
	Where   string `json:"where,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Run     string `json:"run,omitempty"`
	Address string `json:"address,omitempty"`
}

// waitingTaint says since when words of strangers are in the run.
type waitingTaint struct {
	Since time.Time `json:"since,omitzero"`
	By    string    `json:"by,omitempty"`
}

// askedQuestion is one question of an agent.
type askedQuestion struct {
	Question string `json:"question"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description,omitempty"`
	} `json:"options,omitempty"`
	MultiSelect bool `json:"multi_select,omitempty"`
}

// what is a question in one line.
func (w waiting) what() string {
	switch {
	case len(w.Questions) > 0:
		var parts []string
		for _, q := range w.Questions {
			parts = append(parts, q.text())
		}
		return strings.Join(parts, " / ")
	case w.Tool == "":
		return firstOf(w.Title, w.Reason, w.Kind)
	}
	return w.Tool + " " + string(w.Arguments)
}

// text is a question with its options.
func (q askedQuestion) text() string {
	if len(q.Options) == 0 {
		return q.Question
	}
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, o.Label)
	}
	return q.Question + " [" + strings.Join(labels, "|") + "]"
}

// from is who wants it, by what.
func (w waiting) from() string {
	if w.Asker == nil || w.Asker.Via == "" {
		return w.RequestedBy
	}
	return w.RequestedBy + " (" + w.Asker.Via + ")"
}

func newApprovalsList(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "What waits for you", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var out struct {
					Approvals []waiting `json:"approvals"`
				}
				if err := c.Do(ctx, "GET", "/api/approvals", nil, nil, &out); err != nil {
					return err
				}
				return g.show(cmd, out.Approvals, func(p *printer) {
					p.table("ID", "FROM", "MACHINES", "LEFT", "WHAT")
					for _, a := range out.Approvals {
						p.row(a.ID, short(a.from(), 60), short(strings.Join(a.Machines, ","), 40), time.Until(a.Expires).Round(time.Second).String(), short(a.what(), 100))
					}
				})
			})
		},
	}
	return jsonFlag(cmd, g)
}

// approvalByID fetches one question.
func approvalByID(ctx context.Context, c *hubapi.Client, id string) (w waiting, err error) {
	err = c.Do(ctx, "GET", "/api/approvals/"+url.PathEscape(id), nil, nil, &w)
	return w, err
}

func newApprovalsShow(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "show ID", Short: "All of one question: what exactly would happen, who wants it, by what", Args: exactly(1, "name one approval; see 'parley approvals list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				w, err := approvalByID(ctx, c, args[0])
				if err != nil {
					return err
				}
				return g.show(cmd, w, w.print)
			})
		},
	}, g)
}

// print shows all of a question. Nothing is cut: this is what one decides by.
func (w waiting) print(p *printer) {
	field := func(name, text string) {
		if text != "" {
			p.line(fmt.Sprintf("%-10s %s", name, text))
		}
	}
	field("what", firstOf(w.Title, w.Kind))
	field("asked by", w.RequestedBy)
	field("for", w.OnBehalfOf)
	if w.Asker != nil {
		field("person", w.Asker.Person)
		field("by", w.Asker.Via)
		field("from", w.Asker.Address)
	}
	field("machines", strings.Join(w.Machines, ", "))
	field("on", w.Target)
	field("why", w.Reason)
	if w.Tainted != nil {
		field("tainted", "words of others entered the run "+ago(w.Tainted.Since)+", first of "+w.Tainted.By)
	}
	if w.NotAsker {
		field("answer", "by another person than the one who asked")
	}
	field("until", w.Expires.Local().Format(time.DateTime))
	field("outcome", w.Outcome)
	field("tool", w.Tool)
	if len(w.Questions) == 0 || w.Kind == "skill" {
		p.line("")
		printArguments(p, w.Arguments)
	}
	for i, q := range w.Questions {
		p.line(fmt.Sprintf("\n%d. %s", i+1, q.Question))
		for _, o := range q.Options {
			p.line("   - " + o.Label + because(o.Description))
		}
	}
}

// printArguments shows strings as they will be used, and the rest as JSON.
func printArguments(p *printer, raw json.RawMessage) {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		p.line(string(raw))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		var text string
		if json.Unmarshal(args[name], &text) != nil {
			text = indented(args[name])
		}
		p.line(name + ":\n  " + strings.ReplaceAll(text, "\n", "\n  "))
	}
}
