package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
)

func newSkill(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "skill", Short: "Skills: exchange them with other agents, review what came", Args: cobra.NoArgs,
		Long: `Skills that agents of this hub give to others and get from them.

  parley skill offer tea AGENT          give a public skill (public: true in its head)
  parley skill request AGENT tea        ask for one
  parley skill list                     what came, and what waits for you
  parley skill show ID                  provenance, findings, text, difference
  parley skill approve ID               use it; nothing received is used before
  parley skill threads                  discussions and negotiations
  parley skill extensions               what other agents would like to speak`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSkillList(g), newSkillShow(g), newSkillOffer(g), newSkillRequest(g), newSkillAccept(g), newSkillDecline(g), newSkillApprove(g),
		newSkillReject(g), newSkillRevoke(g), newSkillExchanges(g), newSkillExtensions(g), newSkillThreads(g), newSkillSay(g))
	return cmd
}

// receivedSkill is one that came from another agent.
type receivedSkill struct {
	ID       string `json:"id"`
	Agent    string `json:"agent"`
	Name     string `json:"name,omitempty"`
	Title    string `json:"title"`
	Sender   string `json:"sender"`
	Level    string `json:"level"`
	Hash     string `json:"hash"`
	Size     int    `json:"size_bytes"`
	Origin   string `json:"origin"`
	HopCount int    `json:"hop_count"`
	Chain    []struct {
		Agent    string `json:"agent"`
		Verified bool   `json:"verified"`
	} `json:"chain"`
	Findings    []skillFinding `json:"findings"`
	State       string         `json:"state"`
	Approval    string         `json:"approval_id,omitempty"`
	Unsolicited bool           `json:"unsolicited"`
	Received    time.Time      `json:"received_at"`
	Reason      string         `json:"reason,omitempty"`
	Source      string         `json:"source,omitempty"`
	Diff        string         `json:"diff,omitempty"`
	Agents      []string       `json:"agents"`
}

// skillFinding is something to look at before deciding.
type skillFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Line     int    `json:"line"`
	Text     string `json:"text"`
	Excerpt  string `json:"excerpt"`
	More     int    `json:"more,omitempty"`
}

func (f skillFinding) String() string {
	text := fmt.Sprintf("line %d: %s: %s", f.Line, f.Text, f.Excerpt)
	if f.More > 0 {
		text += fmt.Sprintf(" (and %d more lines like it)", f.More)
	}
	return text
}

func newSkillList(g *globals) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "list", Short: "What other agents sent, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var out struct {
					Skills []receivedSkill `json:"skills"`
				}
				query := url.Values{}
				if state != "" {
					query.Set("state", state)
				}
				if err := c.Do(ctx, "GET", "/api/skills/received", query, nil, &out); err != nil {
					return err
				}
				return g.show(cmd, out.Skills, func(p *printer) {
					p.table("ID", "SKILL", "STATE", "FROM", "LEVEL", "HOPS", "FINDINGS", "RECEIVED")
					for _, s := range out.Skills {
						p.row(s.ID, firstOf(s.Name, s.Title), s.State, s.Sender, s.Level, strconv.Itoa(s.HopCount), strconv.Itoa(len(s.Findings)), ago(s.Received))
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only quarantined, approved, rejected, revoked or replaced")
	return jsonFlag(cmd, g)
}

// skillByID fetches one with its review.
func skillByID(ctx context.Context, c *hubapi.Client, id string) (s receivedSkill, err error) {
	err = c.Do(ctx, "GET", "/api/skills/received/"+url.PathEscape(id), nil, nil, &s)
	return s, err
}

func newSkillShow(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "show ID", Short: "Provenance, findings, text, difference to the version in use", Args: exactly(1, "name one skill; see 'parley skill list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				s, err := skillByID(ctx, c, args[0])
				if err != nil {
					return err
				}
				return g.show(cmd, s, s.print)
			})
		},
	}, g)
}

func (s receivedSkill) print(p *printer) {
	p.line(fmt.Sprintf("%s (%s), sent by %s (%s), sha256:%s", firstOf(s.Name, s.Title), s.State, s.Sender, s.Level, s.Hash))
	var hops []string
	for _, h := range s.Chain {
		mark := " (claimed)"
		if h.Verified {
			mark = " (signed)"
		}
		hops = append(hops, h.Agent+mark)
	}
	p.line("way: " + strings.Join(hops, " → "))
	if len(s.Agents) > 0 {
		p.line("for: " + strings.Join(s.Agents, ", "))
	}
	for _, f := range s.Findings {
		p.line(f.Severity + ", " + f.String())
	}
	if s.Diff != "" {
		p.line("\nchanges:\n" + s.Diff)
	}
	p.line("\n" + s.Source)
}

// toAgent says in whose name and where a command speaks.
type toAgent struct{ agent, place string }

func (t *toAgent) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.agent, "agent", "parley", "the agent of this hub that speaks")
	cmd.Flags().StringVar(&t.place, "place", "", "id of the place of a visit (default: this hub's own place)")
}

// exchanged is an exchange as commands print it.
type exchanged struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Peer    string    `json:"peer"`
	Side    string    `json:"side"`
	State   string    `json:"state"`
	SkillID string    `json:"skill_id"`
	Skill   string    `json:"skill,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Changed time.Time `json:"changed_at"`
}

// exchange posts and prints the exchange that comes back.
func (g *globals) exchange(cmd *cobra.Command, path string, body any) error {
	return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
		var e exchanged
		if err := c.Do(ctx, "POST", path, nil, body, &e); err != nil {
			return err
		}
		return g.show(cmd, e, func(p *printer) { p.line(e.State + " " + e.ID) })
	})
}

func newSkillOffer(g *globals) *cobra.Command {
	var to toAgent
	cmd := &cobra.Command{
		Use: "offer SKILL AGENT", Short: "Offer a public skill to another agent", Args: exactly(2, "name the skill and the id of the agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.exchange(cmd, "/api/skills/offer", map[string]string{"skill": args[0], "to": args[1], "agent": to.agent, "place": to.place})
		},
	}
	to.flags(cmd)
	return jsonFlag(cmd, g)
}

func newSkillRequest(g *globals) *cobra.Command {
	var to toAgent
	var about string
	cmd := &cobra.Command{
		Use: "request AGENT [SKILL]", Short: "Ask another agent for a skill", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]string{"to": args[0], "agent": to.agent, "place": to.place, "description": about}
			if len(args) == 2 {
				body["skill_id"] = args[1]
			}
			return g.exchange(cmd, "/api/skills/request", body)
		},
	}
	to.flags(cmd)
	cmd.Flags().StringVar(&about, "about", "", "what it should be about, when its id is not known")
	return jsonFlag(cmd, g)
}

func newSkillAccept(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "accept EXCHANGE", Short: "Accept an offer; what comes waits for approval", Args: exactly(1, "name one exchange; see 'parley skill exchanges'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.exchange(cmd, "/api/skills/exchanges/"+url.PathEscape(args[0])+"/accept", nil)
		},
	}, g)
}

func newSkillDecline(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "decline EXCHANGE", Short: "Decline an offer", Args: exactly(1, "name one exchange; see 'parley skill exchanges'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.exchange(cmd, "/api/skills/exchanges/"+url.PathEscape(args[0])+"/decline", map[string]string{"reason": reason})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "user_declined, policy_violation …")
	return jsonFlag(cmd, g)
}

// decideSkill answers the question of a skill in the inbox; agents are those that
// may use it, none for the one it was sent to.
func (g *globals) decideSkill(cmd *cobra.Command, id string, a answerApproval, agents []string) error {
	var s receivedSkill
	err := g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) (err error) {
		if s, err = skillByID(ctx, c, id); err != nil || s.State != "quarantined" || s.Approval != "" {
			return err
		}
		// A stranger's skill asks nobody by itself.
		return c.Do(ctx, "POST", "/api/skills/received/"+url.PathEscape(s.ID)+"/ask", nil, nil, &s)
	})
	if err != nil {
		return err
	}
	if s.Approval == "" {
		return &exitError{exitFailed, "it is " + s.State + " already"}
	}
	dangers := 0
	for _, f := range s.Findings {
		if f.Severity == "danger" {
			dangers++
		}
	}
	if a.Approved && len(a.Answers) == 0 && dangers > 0 {
		return &exitError{exitFailed, fmt.Sprintf("%d dangerous passage(s) were found; read 'parley skill show %s', then say --acknowledge-dangers", dangers, id)}
	}
	if !a.Approved || dangers == 0 {
		a.Answers = nil
	}
	for i := 1; a.Approved && i < dangers; i++ {
		a.Answers = append(a.Answers, a.Answers[0])
	}
	if a.Approved && len(agents) > 0 {
		a.Answers = append(a.Answers, strings.Join(agents, ", "))
	}
	return g.answer(cmd, s.Approval, a)
}

func newSkillApprove(g *globals) *cobra.Command {
	var danger bool
	var agents []string
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Use a received skill", Args: exactly(1, "name one skill; see 'parley skill list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a := answerApproval{Approved: true}
			if danger {
				a.Answers = []string{"acknowledged"}
			}
			return g.decideSkill(cmd, args[0], a, agents)
		},
	}
	cmd.Flags().BoolVar(&danger, "acknowledge-dangers", false, "I have read every dangerous passage and still want the skill")
	cmd.Flags().StringSliceVar(&agents, "agents", nil, "who may use it; * for every agent that lists it (default: the agent it was sent to)")
	return jsonFlag(cmd, g)
}

func newSkillReject(g *globals) *cobra.Command {
	var a answerApproval
	cmd := &cobra.Command{
		Use: "reject ID", Short: "Refuse a received skill; it is deleted", Args: exactly(1, "name one skill; see 'parley skill list'"),
		RunE: func(cmd *cobra.Command, args []string) error { return g.decideSkill(cmd, args[0], a, nil) },
	}
	cmd.Flags().StringVar(&a.Reason, "reason", "", "why not")
	return jsonFlag(cmd, g)
}

func newSkillRevoke(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Take an approved skill out of use", Args: exactly(1, "name one skill; see 'parley skill list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var s receivedSkill
				if err := c.Do(ctx, "POST", "/api/skills/received/"+url.PathEscape(args[0])+"/revoke", nil, map[string]string{"reason": reason}, &s); err != nil {
					return err
				}
				return g.show(cmd, s, func(p *printer) { p.line(s.State + " " + s.ID) })
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return jsonFlag(cmd, g)
}

func newSkillExchanges(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "exchanges", Short: "Offers and requests, ours and theirs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.onHub(cmd, func(ctx context.Context, c *hubapi.Client) error {
				var out struct {
					Exchanges []exchanged `json:"exchanges"`
				}
				if err := c.Do(ctx, "GET", "/api/skills/exchanges", nil, nil, &out); err != nil {
					return err
				}
				return g.show(cmd, out.Exchanges, func(p *printer) {
					p.table("ID", "AGENT", "SIDE", "PEER", "SKILL", "STATE", "REASON", "CHANGED")
					for _, e := range out.Exchanges {
						p.row(e.ID, e.Agent, e.Side, e.Peer, e.SkillID, e.State, short(e.Reason, 60), ago(e.Changed))
					}
				})
			})
		},
	}, g)
}
