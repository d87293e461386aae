package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client/hubapi"
	"parley/internal/fit"
	"parley/internal/visible"
	"parley/protocol/kibitz"
)

func newRoom(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "room", Short: "Open rooms, decide who may enter and do what, join, look at the trail", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRoomOpen(g), newRoomList(g), newRoomClose(g), newRoomPolicy(g), newRoomKeygen(g), newRoomInvite(g), newRoomJoin(g), newRoomGrant(g), newRoomOwner(g), newRoomHost(g), newRoomAudit(g))
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

func roomPath(room string, more ...string) string {
	parts := []string{"/api/rooms", url.PathEscape(room)}
	for _, m := range more {
		parts = append(parts, url.PathEscape(m))
	}
	return strings.Join(parts, "/")
}

// roomView is a room as the hub shows it.
type roomView struct {
	Room    string     `json:"room"`
	Title   string     `json:"title"`
	URL     string     `json:"url"`
	WS      string     `json:"ws"`
	Key     kibitz.Raw `json:"key"`
	Version int64      `json:"version"`
	Members int        `json:"members,omitempty"`
	Agents  int        `json:"agents,omitempty"`
	Locked  bool       `json:"locked,omitempty"`
	Owner   string     `json:"owner,omitempty"`
	// RoomKey is the secret of a sealed room. The hub never sees it.
	RoomKey string `json:"room_key,omitempty"`
}

func newRoomOpen(g *globals) *cobra.Command {
	var title, humans, agents, demo string
	var lobby, sealed bool
	cmd := &cobra.Command{
		Use: "open ROOM", Short: "Make a room and print its link", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			policy := map[string]any{
				"humans": map[string]any{"mode": humans}, "agents": map[string]any{"mode": agents},
				"lobby": map[string]any{"on": lobby}, "sealed": sealed,
			}
			var room roomView
			err := c.Do(ctx, http.MethodPost, "/api/rooms", nil, map[string]any{"room": args[0], "title": title, "policy": policy, "demo": demo}, &room)
			if err != nil {
				return err
			}
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
	flags.BoolVar(&lobby, "lobby", false, "newcomers wait until a host admits them")
	flags.BoolVar(&sealed, "sealed", false, "content is encrypted between those who have the link")
	flags.StringVar(&demo, "demo", "", "with something to try it out: cards")
	return jsonFlag(cmd, g)
}

func newRoomList(g *globals) *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use: "list", Short: "List rooms", Args: cobra.NoArgs,
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, _ []string) error {
			var out struct {
				Rooms []roomView `json:"rooms"`
			}
			if err := c.Do(ctx, http.MethodGet, "/api/rooms", nil, nil, &out); err != nil {
				return err
			}
			return g.show(cmd, out.Rooms, func(p *printer) {
				p.table("ROOM", "OWNER", "MEMBERS", "AGENTS", "LOCKED", "TITLE")
				for _, r := range out.Rooms {
					p.row(r.Room, r.Owner, strconv.Itoa(r.Members), strconv.Itoa(r.Agents), strconv.FormatBool(r.Locked), r.Title)
				}
			})
		}),
	}, g)
}

func newRoomClose(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "close ROOM", Short: "End a room for good; everybody is told", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, _ *cobra.Command, c *hubapi.Client, args []string) error {
			return c.Do(ctx, http.MethodDelete, roomPath(args[0]), nil, nil, nil)
		}),
	}
}

func newRoomInvite(g *globals) *cobra.Command {
	var name, forKey, caps string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "invite ROOM", Short: "Make a pass to a room", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			req := map[string]any{"name": name, "ttl": ttl.Seconds(), "jkt": forKey}
			if caps != "" {
				grant, err := readCaps(caps)
				if err != nil {
					return err
				}
				req["caps"] = grant
			}
			var out struct {
				Token string `json:"token"`
				URL   string `json:"url"`
			}
			if err := c.Do(ctx, http.MethodPost, roomPath(args[0], "invites"), nil, req, &out); err != nil {
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
			var out struct {
				Rev   uint64       `json:"rev"`
				Grant kibitz.Grant `json:"grant"`
			}
			path := roomPath(args[0], "grants", args[1])
			switch {
			case unset == (len(args) == 3):
				return usageError("give either capabilities or --clear")
			case unset:
				if err := c.Do(ctx, http.MethodDelete, path, nil, nil, &out); err != nil {
					return err
				}
			default:
				grant, err := readCaps(args[2])
				if err != nil {
					return err
				}
				if lasts > 0 {
					grant.ExpiresAt = float64(time.Now().Add(lasts).Unix())
				}
				if err := c.Do(ctx, http.MethodPut, path, nil, grant, &out); err != nil {
					return err
				}
			}
			return g.show(cmd, out, func(p *printer) { p.line(out.Grant.String()) })
		}),
	}
	cmd.Flags().BoolVar(&unset, "clear", false, "back to the grant of the admission")
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long, such as 10m; then nothing is left")
	return jsonFlag(cmd, g)
}

// roomEntry is one entry of a room's trail.
type roomEntry struct {
	Seq    int64  `json:"seq"`
	TS     int64  `json:"ts"`
	Actor  string `json:"actor"`
	ID     string `json:"id"`
	KeyID  string `json:"keyId,omitempty"`
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Code   string `json:"code,omitempty"`
	Count  int    `json:"count,omitempty"`
	Hash   string `json:"hash"`
}

func newRoomAudit(g *globals) *cobra.Command {
	var follow bool
	var kind string
	cmd := &cobra.Command{
		Use: "audit ROOM", Short: "Show what was decided in a room", Args: cobra.ExactArgs(1),
		RunE: g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
			after := int64(0)
			for {
				var page struct {
					Entries []roomEntry `json:"entries"`
					Next    int64       `json:"next"`
				}
				query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {"1000"}, "kind": {kind}}
				if err := c.Do(ctx, http.MethodGet, roomPath(args[0], "audit"), query, nil, &page); err != nil {
					return err
				}
				for _, e := range page.Entries {
					if err := g.show(cmd, e, func(p *printer) { p.line(e.text()) }); err != nil {
						return err
					}
				}
				if after = page.Next; len(page.Entries) == 1000 {
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

func (e roomEntry) text() string {
	words := []string{time.UnixMilli(e.TS).Local().Format("15:04:05"), fmt.Sprintf("%-9s %s", e.Kind, visible.Line(e.Actor))}
	for _, more := range []string{e.ID, e.Detail, e.Code} {
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
