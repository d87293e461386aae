package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley.internal/protocol/rest"
)

func newSkill(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "skill", Short: "Skills: exchange them with other agents, review what came", Args: cobra.NoArgs,
		Long: `Skills that agents of this hub give to others and get from them.

  parley skill offer tea AGENT          give a public skill (public: true in its head)
  parley skill request AGENT tea        ask for one
  parley skill acquire tea OWNER        take one from the shelf of a place
  parley skill list                     what came, and what waits for you
  parley skill show ID                  provenance, findings, text, difference
  parley skill approve ID               use it; nothing received is used before
  parley skill threads                  discussions and negotiations
  parley skill extensions               what other agents would like to speak`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSkillList(g), newSkillShow(g), newSkillOffer(g), newSkillRequest(g), newSkillAcquire(g), newSkillAttest(g), newSkillAccept(g), newSkillDecline(g), newSkillApprove(g),
		newSkillReject(g), newSkillRevoke(g), newSkillExchanges(g), newSkillExtensions(g), newSkillThreads(g), newSkillSay(g))
	return cmd
}

func findingText(f rest.Finding) string {
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
			out, err := ask(g, cmd, rest.ListReceivedSkills, rest.ReceivedSkillQuery{State: state})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Skills, func(p *printer) {
				p.table("ID", "SKILL", "STATE", "FROM", "LEVEL", "HOPS", "FINDINGS", "RECEIVED")
				for _, s := range out.Skills {
					p.row(s.ID, firstOf(s.Name, s.Title), s.State, s.Sender, s.Level, strconv.Itoa(s.HopCount), strconv.Itoa(len(s.Findings)), ago(s.Received))
				}
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only quarantined, approved, rejected, revoked or replaced")
	return jsonFlag(cmd, g)
}

func newSkillShow(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "show ID", Short: "Provenance, findings, text, difference to the version in use", Args: exactly(1, "name one skill; see 'parley skill list'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := ask(g, cmd, rest.ReviewSkill, rest.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			return g.show(cmd, s, func(p *printer) { printSkill(p, s) })
		},
	}, g)
}

func printSkill(p *printer, s rest.SkillReview) {
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
		p.line(f.Severity + ", " + findingText(f))
	}
	if s.Diff != "" {
		p.line("\nchanges:\n" + s.Diff)
	}
	p.line("\n" + s.Source)
}

// speakerFlags say in whose name and where a command speaks.
func speakerFlags(cmd *cobra.Command, to *rest.ToPeer) {
	cmd.Flags().StringVar(&to.Agent, "agent", "parley", "the agent of this hub that speaks")
	cmd.Flags().StringVar(&to.Place, "place", "", "id of the place of a visit (default: this hub's own place)")
}

// exchange does something in an exchange, and prints it as it is then.
func exchange[In any](g *globals, cmd *cobra.Command, op rest.Operation[In, rest.Exchange], in In) error {
	e, err := ask(g, cmd, op, in)
	if err != nil {
		return err
	}
	return g.show(cmd, e, func(p *printer) { p.line(e.State + " " + e.ID) })
}

func newSkillOffer(g *globals) *cobra.Command {
	var to rest.ToPeer
	cmd := &cobra.Command{
		Use: "offer SKILL AGENT", Short: "Offer a public skill to another agent", Args: exactly(2, "name the skill and the id of the agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to.To = args[1]
			return exchange(g, cmd, rest.OfferSkill, rest.SkillOffer{ToPeer: to, Skill: args[0]})
		},
	}
	speakerFlags(cmd, &to)
	return jsonFlag(cmd, g)
}

func shelfFlags(cmd *cobra.Command, on *rest.OnShelf) {
	cmd.Flags().StringVar(&on.Agent, "agent", "parley", "the agent of this hub that is there")
	cmd.Flags().StringVar(&on.Place, "place", "", "id of the place of a visit (default: this hub's own place)")
}

func newSkillAcquire(g *globals) *cobra.Command {
	var on rest.OnShelf
	cmd := &cobra.Command{
		Use: "acquire SKILL OWNER", Short: "Take a skill from the shelf of a place; it waits until a person approved it", Args: exactly(2, "name the skill and its owner; see 'parley place deposits'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			on.Skill, on.Owner = args[0], args[1]
			s, err := ask(g, cmd, rest.AcquireSkill, rest.Acquisition{OnShelf: on})
			if err != nil {
				return err
			}
			return g.show(cmd, s, func(p *printer) { p.line(s.State + " " + s.ID) })
		},
	}
	shelfFlags(cmd, &on)
	return jsonFlag(cmd, g)
}

func newSkillAttest(g *globals) *cobra.Command {
	var on rest.OnShelf
	cmd := &cobra.Command{
		Use: "attest SKILL OWNER CLAIM", Short: "Say something about a skill on the shelf of a place, signed", Args: exactly(3, "name the skill, its owner, and what you say of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			on.Skill, on.Owner = args[0], args[1]
			_, err := ask(g, cmd, rest.AttestSkill, rest.Attestation{OnShelf: on, Claim: args[2]})
			return err
		},
	}
	shelfFlags(cmd, &on)
	return cmd
}

func newSkillRequest(g *globals) *cobra.Command {
	var to rest.ToPeer
	var about string
	cmd := &cobra.Command{
		Use: "request AGENT [SKILL]", Short: "Ask another agent for a skill", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			to.To = args[0]
			req := rest.SkillRequest{ToPeer: to, Description: about}
			if len(args) == 2 {
				req.SkillID = args[1]
			}
			return exchange(g, cmd, rest.RequestSkill, req)
		},
	}
	speakerFlags(cmd, &to)
	cmd.Flags().StringVar(&about, "about", "", "what it should be about, when its id is not known")
	return jsonFlag(cmd, g)
}

func newSkillAccept(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "accept EXCHANGE", Short: "Accept an offer; what comes waits for approval", Args: exactly(1, "name one exchange; see 'parley skill exchanges'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return exchange(g, cmd, rest.AcceptExchange, rest.ByID{ID: args[0]})
		},
	}, g)
}

func newSkillDecline(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "decline EXCHANGE", Short: "Decline an offer", Args: exactly(1, "name one exchange; see 'parley skill exchanges'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return exchange(g, cmd, rest.DeclineExchange, rest.WithReason{ID: args[0], Body: rest.Reason{Reason: reason}})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "user_declined, policy_violation …")
	return jsonFlag(cmd, g)
}

// decideSkill answers the question of a skill in the inbox; agents are those that
// may use it, none for the one it was sent to.
func (g *globals) decideSkill(cmd *cobra.Command, id string, a rest.Answer, agents []string) error {
	review, err := ask(g, cmd, rest.ReviewSkill, rest.ByID{ID: id})
	s := review.ReceivedSkill
	if err == nil && s.State == "quarantined" && s.Approval == "" {
		// A stranger's skill asks nobody by itself.
		s, err = ask(g, cmd, rest.AskAboutSkill, rest.ByID{ID: s.ID})
	}
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
			a := rest.Answer{Approved: true}
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
	var a rest.Answer
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
			s, err := ask(g, cmd, rest.RevokeSkill, rest.WithReason{ID: args[0], Body: rest.Reason{Reason: reason}})
			if err != nil {
				return err
			}
			return g.show(cmd, s, func(p *printer) { p.line(s.State + " " + s.ID) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return jsonFlag(cmd, g)
}

func newSkillExchanges(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "exchanges", Short: "Offers and requests, ours and theirs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(g, cmd, rest.ListExchanges, rest.SkillLimit{})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Exchanges, func(p *printer) {
				p.table("ID", "AGENT", "SIDE", "PEER", "SKILL", "STATE", "REASON", "CHANGED")
				for _, e := range out.Exchanges {
					p.row(e.ID, e.Agent, e.Side, e.Peer, e.SkillID, e.State, short(e.Reason, 60), ago(e.Changed))
				}
			})
		},
	}, g)
}
