package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/fit"
	"parley.internal/internal/visible"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

func newRoom(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "room", Short: "Open rooms, decide who may enter and do what, join, look at the trail", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRoomOpen(g), newRoomList(g), newRoomClose(g), newRoomPolicy(g), newRoomKeygen(g), newRoomInvite(g), newRoomInvites(g), newRoomJoin(g), newRoomGrant(g), newRoomOwner(g), newRoomHost(g), newRoomAudit(g))
	return cmd
}

// refusedCode is the exit code when a hub says no.
const refusedCode = 3

// refusal makes a hub's no end the program with its code.
func refusal(err error) error {
	if no, ok := errors.AsType[*hubapi.Error](err); ok && strings.Contains(no.Code, ".") {
		return &exitError{code: refusedCode, text: no.Code + ": " + no.Detail}
	}
	return err
}

// withRoom runs a command on a hub; refusals end with their code.
func (g *globals) withRoom(body func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) error { return refusal(body(ctx, cmd, c, args)) })
	}
}

// openedRoom is a room, and the secret of a sealed one. The hub never sees that.
type openedRoom struct {
	rest.Room
	RoomKey string `json:"room_key,omitempty"`
}

func newRoomOpen(g *globals) *cobra.Command {
	var title, humans, agents, demo string
	var publishers []string
	var lobby, sealed, directed bool
	cmd := &cobra.Command{
		Use: "open ROOM", Short: "Make a room and print its link", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			policy, err := json.Marshal(map[string]any{
				"humans": map[string]any{"mode": humans}, "agents": map[string]any{"mode": agents},
				"lobby": map[string]any{"on": lobby}, "sealed": sealed, "views": map[string]any{"publishers": publishers, "directedOnly": directed},
			})
			if err != nil {
				return err
			}
			made, err := hubapi.Call(ctx, c, rest.OpenRoom, rest.RoomRequest{Room: args[0], Title: title, Policy: policy, Demo: demo})
			if err != nil {
				return err
			}
			room := openedRoom{Room: made}
			if sealed {
				secret := make([]byte, kibitz.SecretSize)
				_, _ = rand.Read(secret) // never fails
				room.RoomKey = base64.RawURLEncoding.EncodeToString(secret)
				room.URL += "#k=" + room.RoomKey
			}
			return g.show(cmd, room, func(p *printer) {
				p.line(c.Base() + room.URL)
				if sealed {
					p.note("the part after # is the room's key: only this link has it")
				}
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&title, "title", "", "what people see")
	flags.StringVar(&humans, "humans", kibitz.HumansHub, "who may enter: hub, invite, oidc, open or none")
	flags.StringVar(&agents, "agents", kibitz.AgentsGated, "which agents: gated, open or none")
	flags.StringSliceVar(&publishers, "publishers", []string{"host"}, "who may show agents what happens in an app: host, humans, or thumbprints of keys")
	flags.BoolVar(&directed, "directed-only", false, "what is shown is for one participant at a time, such as a hand of cards")
	flags.BoolVar(&lobby, "lobby", false, "newcomers wait until a host admits them")
	flags.BoolVar(&sealed, "sealed", false, "content is encrypted between those who have the link")
	flags.StringVar(&demo, "demo", "", "with something to try it out: cards")
	return jsonFlag(cmd, g)
}

func newRoomList(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "list", Short: "List rooms", Args: cobra.NoArgs,
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, _ []string) error {
			out, err := hubapi.Call(ctx, c, rest.ListRooms, rest.None{})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Rooms, func(p *printer) {
				p.table("ROOM", "OWNER", "MEMBERS", "AGENTS", "LOCKED", "TITLE")
				for _, r := range out.Rooms {
					p.row(r.Room.Room, r.Owner, strconv.Itoa(r.Members), strconv.Itoa(r.Agents), strconv.FormatBool(r.Locked), r.Title)
				}
			})
		}),
	}, g)
}

func newRoomClose(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "close ROOM", Short: "End a room for good; everybody is told", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, _ *cobra.Command, c *hubapi.Client, args []string) error {
			_, err := hubapi.Call(ctx, c, rest.CloseRoom, rest.RoomName{Room: args[0]})
			return err
		}),
	}
}

func newRoomInvite(g *globals) *cobra.Command {
	var name, forKey, caps string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "invite ROOM", Short: "Make a pass to a room", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			req := rest.InviteRequest{Name: name, TTL: ttl.Seconds(), JKT: forKey}
			if caps != "" {
				grant, err := readCaps(caps)
				if err != nil {
					return err
				}
				req.Caps = grant
			}
			out, err := hubapi.Call(ctx, c, rest.InviteToRoom, rest.RoomInvitation{Room: args[0], Body: req})
			if err != nil {
				return err
			}
			return g.show(cmd, out, func(p *printer) { p.line(c.Base() + out.URL) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "who it is for")
	flags.DurationVar(&ttl, "ttl", 24*time.Hour, "how long it is good")
	flags.StringVar(&forKey, "for", "", "thumbprint of the agent it is for; without, whoever carries it")
	flags.StringVar(&caps, "caps", "", "the grant it gives, such as read-chat,send-chat")
	_ = cmd.MarkFlagRequired("name")
	return jsonFlag(cmd, g)
}

func newRoomInvites(g *globals) *cobra.Command {
	var withdraw string
	cmd := &cobra.Command{
		Use: "invites ROOM", Short: "List the passes that are good, or withdraw one", Args: cobra.ExactArgs(1),
		Long:    "List the passes to a room that are good. One that is withdrawn is worthless at once,\nand whoever came with it is put out.",
		Example: "  parley room invites standup\n  parley room invites standup --withdraw ID",
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			if withdraw != "" {
				if _, err := hubapi.Call(ctx, c, rest.WithdrawInvite, rest.InviteName{Room: args[0], Invite: withdraw}); err != nil {
					return err
				}
			}
			out, err := hubapi.Call(ctx, c, rest.ListInvites, rest.RoomName{Room: args[0]})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Invites, func(p *printer) {
				p.table("ID", "FOR", "BY", "UNTIL")
				for _, i := range out.Invites {
					p.row(i.ID, i.Name, i.By, i.Expires.Format(time.RFC3339))
				}
			})
		}),
	}
	cmd.Flags().StringVar(&withdraw, "withdraw", "", "make the pass of this id worthless")
	return jsonFlag(cmd, g)
}

// readCaps reads capabilities as people write them.
func readCaps(text string) (*kibitz.Grant, error) {
	g := &kibitz.Grant{Perceive: []kibitz.Capability{}, Act: []kibitz.Capability{}}
	for word := range strings.SplitSeq(text, ",") {
		c := kibitz.Capability(strings.TrimSpace(word))
		switch {
		case c == "" || c == "nothing":
		case slices.Contains(kibitz.PerceiveWords(), c):
			g.Perceive = append(g.Perceive, c)
		case slices.Contains(kibitz.ActWords(), c):
			g.Act = append(g.Act, c)
		default:
			return nil, usageError("%q is no capability; there are %v", string(c), kibitz.Words())
		}
	}
	return g, nil
}

func newRoomGrant(g *globals) *cobra.Command {
	var unset bool
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "grant ROOM PARTICIPANT a,b,…", Short: "Change what somebody may perceive and do, now", Args: cobra.RangeArgs(2, 3),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			if unset == (len(args) == 3) {
				return usageError("give either capabilities or --clear")
			}
			whose := rest.Participant{Room: args[0], Participant: args[1]}
			out, err := rest.GrantState{}, error(nil)
			if unset {
				out, err = hubapi.Call(ctx, c, rest.ClearGrant, whose)
			} else {
				out, err = giveGrant(ctx, c, whose, args[2], lasts)
			}
			if err != nil {
				return err
			}
			return g.show(cmd, out, func(p *printer) { p.line(out.Grant.String()) })
		}),
	}
	cmd.Flags().BoolVar(&unset, "clear", false, "back to the grant of the admission")
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long, such as 10m; then nothing is left")
	return jsonFlag(cmd, g)
}

// giveGrant overrides somebody's grant, for a while or for good.
func giveGrant(ctx context.Context, c *hubapi.Client, whose rest.Participant, caps string, lasts time.Duration) (out rest.GrantState, err error) {
	grant, err := readCaps(caps)
	if err != nil {
		return out, err
	}
	if lasts > 0 {
		grant.ExpiresAt = float64(time.Now().Add(lasts).Unix())
	}
	text, err := json.Marshal(grant)
	if err != nil {
		return out, err
	}
	return hubapi.Call(ctx, c, rest.SetGrant, rest.GrantChange{Participant: whose, Body: text})
}

func newRoomAudit(g *globals) *cobra.Command {
	var follow bool
	var kind string
	cmd := &cobra.Command{
		Use: "audit ROOM", Short: "Show what was decided in a room", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			q := rest.RoomAuditQuery{Room: args[0], Limit: 1000, Kind: kind}
			for {
				page, err := hubapi.Call(ctx, c, rest.RoomAudit, q)
				if err != nil {
					return err
				}
				for _, e := range page.Entries {
					if err := g.show(cmd, e, func(p *printer) { p.line(entryText(e)) }); err != nil {
						return err
					}
				}
				if q.After = page.Next; len(page.Entries) == q.Limit {
					continue
				}
				if !follow {
					return nil
				}
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(time.Second):
				}
			}
		}),
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with what comes")
	cmd.Flags().StringVar(&kind, "kind", "", "only this kind, such as blocked or granted")
	return jsonFlag(cmd, g)
}

func entryText(e rest.RoomEntry) string {
	words := []string{time.UnixMilli(e.TS).Local().Format("15:04:05"), fmt.Sprintf("%-9s %s", e.Kind, visible.Line(e.Actor))}
	for _, more := range []string{e.ID, e.Detail, string(e.Code)} {
		if more != "" && more != e.Actor {
			words = append(words, visible.Line(more))
		}
	}
	if e.Count > 0 {
		words = append(words, fmt.Sprintf("×%d", e.Count))
	}
	return strings.Join(words, "  ")
}

// readFile is os.ReadFile with a text that helps.
func readFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError("%s", fit.OneLine(err.Error()))
	}
	return data, nil
}

func newRoomOwner(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "owner ROOM [PERSON]", Short: "Show whose room it is, or give it to somebody", Args: cobra.RangeArgs(1, 2),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			room, err := hubapi.Call(ctx, c, rest.GetRoom, rest.RoomName{Room: args[0]})
			if len(args) == 2 {
				room, err = hubapi.Call(ctx, c, rest.GiveRoom, rest.RoomGift{Room: args[0], Body: rest.PersonName{Person: args[1]}})
			}
			if err != nil {
				return err
			}
			return g.show(cmd, room, func(p *printer) { p.line(room.Owner) })
		}),
	}, g)
}

func newRoomHost(g *globals) *cobra.Command {
	var lasts time.Duration
	var remove bool
	cmd := &cobra.Command{
		Use: "host ROOM [PERSON]", Short: "List whom the owner made hosts, or make somebody one", Args: cobra.RangeArgs(1, 2),
		Example: "  parley room host standup bob --for 24h\n  parley room host standup bob --remove\n  parley room host standup",
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			if len(args) == 2 {
				if err := changeHost(ctx, c, rest.HostName{Room: args[0], Person: args[1]}, lasts, remove); err != nil {
					return err
				}
			}
			out, err := hubapi.Call(ctx, c, rest.ListHosts, rest.RoomName{Room: args[0]})
			if err != nil {
				return err
			}
			return g.show(cmd, out.Hosts, func(p *printer) {
				p.table("HOST", "BY", "UNTIL")
				for _, h := range out.Hosts {
					until := "withdrawn"
					if !h.Expires.IsZero() {
						until = h.Expires.Format(time.RFC3339)
					}
					p.row(h.Name, h.By, until)
				}
			})
		}),
	}
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long, such as 24h; without, until it is withdrawn")
	cmd.Flags().BoolVar(&remove, "remove", false, "make them a host no more")
	return jsonFlag(cmd, g)
}

func changeHost(ctx context.Context, c *hubapi.Client, whom rest.HostName, lasts time.Duration, remove bool) (err error) {
	if remove {
		_, err = hubapi.Call(ctx, c, rest.DismissHost, whom)
	} else {
		_, err = hubapi.Call(ctx, c, rest.AppointHost, rest.HostAppointment{HostName: whom, Body: rest.TTL{TTL: lasts.Seconds()}})
	}
	return err
}
