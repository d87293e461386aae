package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/client/roomagent"
	"parley.internal/internal/fit"
	"parley.internal/internal/visible"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

// joinFlags say as whom to join.
type joinFlags struct {
	name, key, backend, say, roomKey, invite, creditCommand string
	readOnly                                                bool
	agent                                                   string
	tools                                                   []string
	leave                                                   bool
}

func newRoomJoin(g *globals) *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use: "join ROOM", Short: "Sit in a room: lines of standard input are said, what others say is printed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c := f.alone(g, args[0]); c != nil {
				return refusal(denied(f.join(cmd.Context(), g, cmd, c, args[0])))
			}
			return g.withRoom(func(ctx context.Context, cmd *cobra.Command, c *hubapi.Client, args []string) error {
				if f.agent != "" {
					return f.seat(ctx, g, cmd, c, args[0])
				}
				return denied(f.join(ctx, g, cmd, c, args[0]))
			})(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the name others see")
	flags.StringVar(&f.key, "key", "", "enter as the agent of this key (see keygen)")
	flags.BoolVar(&f.readOnly, "read-only", false, "only watch")
	flags.StringVar(&f.backend, "backend", "", "declare where what is seen goes to")
	flags.StringVar(&f.say, "say", "", "say this and leave")
	flags.StringVar(&f.roomKey, "room-key", "", "key of a sealed room (the link's part after #k=)")
	flags.StringVar(&f.invite, "invite", "", "come with this invite (the link's part after #i=)")
	flags.StringVar(&f.creditCommand, "credit-command", "", "where agents pay: a program with arguments (no shell) that prints a credit; it runs again before each one ends")
	flags.StringVar(&f.agent, "agent", "", "seat this agent of the hub instead; it watches until a host lets it speak")
	flags.StringSliceVar(&f.tools, "tools", nil, "with --agent: tools it may use there (only those that change nothing run)")
	flags.BoolVar(&f.leave, "leave", false, "with --agent: take it out of the room")
	return jsonFlag(cmd, g)
}

// denied makes a room's no end the program with its code.
func denied(err error) error {
	if no, ok := errors.AsType[*roomagent.DeniedError](err); ok {
		return &exitError{code: refusedCode, text: no.Code + ": " + visible.Line(no.Reason)}
	}
	if slow, ok := errors.AsType[*roomagent.RateError](err); ok {
		return &exitError{code: refusedCode, text: slow.Error()}
	}
	if no, ok := errors.AsType[*kibitz.Refusal](err); ok {
		return &exitError{code: refusedCode, text: string(no.Code) + ": " + visible.Line(no.Reason)}
	}
	return err
}

// alone is the hub as somebody meets it who has a key or an invite and no token of it;
// nil where a token is needed, or where nobody said which hub is meant.
func (f *joinFlags) alone(g *globals, where string) *hubapi.Client {
	u, err := url.Parse(where)
	linked := err == nil && u.Host != ""
	invited := f.invite != "" || linked && strings.Contains(u.Fragment, "i=")
	address := firstOf(g.hub, os.Getenv("PARLEY_HUB"))
	if f.agent != "" || f.key == "" && !invited || firstOf(g.token, os.Getenv("PARLEY_TOKEN")) != "" || !linked && address == "" {
		return nil
	}
	return hubapi.New(address, "")
}

// credit runs the program that pays; the first word it prints is a credit.
func (f *joinFlags) credit(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	words := strings.Fields(f.creditCommand)
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", words[0], err)
	}
	printed := strings.Fields(string(out))
	if len(printed) == 0 {
		return "", fmt.Errorf("%s printed no credit", words[0])
	}
	return printed[0], nil
}

func (f *joinFlags) join(ctx context.Context, g *globals, cmd *cobra.Command, c *hubapi.Client, where string) error {
	o, link, err := f.options(c, where)
	if err != nil {
		return err
	}
	out, seen := cmd.OutOrStdout(), roomLog{names: map[string]string{}}
	o.OnFrame = func(fr kibitz.Frame, raw []byte) {
		if line := seen.line(fr); g.json {
			fmt.Fprintf(out, "%s\n", raw)
		} else if line != "" {
			fmt.Fprintln(out, line)
		}
	}
	conn, err := roomagent.Dial(ctx, link, o)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Leave() }()
	if f.say != "" {
		_, err := conn.Chat(ctx, f.say, "")
		return err
	}
	if !f.readOnly {
		go sayLines(ctx, conn, cmd.InOrStdin())
	}
	select {
	case <-ctx.Done():
		return nil
	case <-conn.Done():
		return conn.Err()
	}
}

// options are as whom to come to the room, which is an id or a link.
func (f *joinFlags) options(c *hubapi.Client, where string) (o roomagent.DialOptions, link string, err error) {
	o = roomagent.DialOptions{Name: f.name, RoomKey: f.roomKey, JWT: f.invite, Person: f.key == "" && f.backend == ""}
	if strings.TrimSpace(f.creditCommand) != "" {
		o.RenewCredit, o.Person = f.credit, false
	}
	link = where
	if u, err := url.Parse(where); err != nil || u.Host == "" {
		link = c.Base() + "/r/" + url.PathEscape(where)
	}
	if _, err := kibitz.ParseSecret(f.roomKey); err != nil && f.roomKey != "" {
		return o, "", usageError("the room's key: %s", fit.OneLine(err.Error()))
	}
	if f.key == "" && c.Base() != "" && strings.HasPrefix(link, c.Base()+"/") {
		o.Token = c.Token()
	}
	if f.key != "" || f.backend != "" {
		o.Meta = map[string]any{"role": "agent", "readOnly": f.readOnly}
	}
	if f.backend != "" {
		o.Meta["backend"], o.Meta["egress"] = f.backend, true
	}
	if f.key == "" {
		return o, link, nil
	}
	data, err := readFile(f.key)
	if err != nil {
		return o, "", err
	}
	if o.Key, err = kibitz.ParsePrivateKey(bytes.TrimSpace(data)); err != nil {
		return o, "", usageError("%s: %s", f.key, fit.OneLine(err.Error()))
	}
	return o, link, nil
}

// roomLog makes lines for people of what happens in a room.
type roomLog struct{ names map[string]string }

// line is a frame for people; empty for what they need not see.
func (l *roomLog) line(f kibitz.Frame) string {
	switch f := f.(type) {
	case *kibitz.Roster:
		for _, m := range f.Members {
			l.names[m.ID] = m.Name
		}
	case *kibitz.From:
		if text := chatText(f.C); text != "" {
			return visible.Line(l.names[f.From]) + ": " + visible.Line(text)
		}
	case *kibitz.Kick:
		return "* " + string(f.Code) + ": " + visible.Line(f.Reason)
	case *kibitz.Nak:
		return "* refused: " + string(f.Code) + ": " + visible.Line(f.Reason)
	case *kibitz.Lobby:
		if f.Status == kibitz.LobbyWaiting {
			return "* waiting to be admitted"
		}
	case *kibitz.Self:
		return "* you are " + visible.Line(f.Name) + " and may: " + f.Grant.String()
	}
	return ""
}

// chatText is the line in a chat, built in or an agent's.
func chatText(c kibitz.Raw) string {
	var m struct {
		K    string `json:"k"`
		Text string `json:"text"`
		Data struct {
			Kind string `json:"__kib_agent"`
			Text string `json:"text"`
		} `json:"data"`
	}
	_ = json.Unmarshal(c, &m) // other shapes are no chat
	if m.K == "app" && m.Data.Kind == "chat" {
		return m.Data.Text
	}
	return m.Text
}

// sayLines says what is typed; what is refused is seen among the frames.
func sayLines(ctx context.Context, conn *roomagent.Conn, in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			if _, err := conn.Chat(ctx, text, ""); errors.Is(err, roomagent.ErrLeft) || ctx.Err() != nil {
				return
			}
		}
	}
}

// seat has the hub seat one of its agents, or take it out again.
func (f *joinFlags) seat(ctx context.Context, g *globals, cmd *cobra.Command, c *hubapi.Client, room string) error {
	if f.leave {
		_, err := hubapi.Call(ctx, c, rest.UnseatAgent, rest.SeatName{Room: room, Agent: f.agent})
		return err
	}
	out, err := hubapi.Call(ctx, c, rest.SeatAgent, rest.SeatRequest{Room: room, Body: rest.SeatWish{Agent: f.agent, Tools: f.tools}})
	if err != nil {
		return err
	}
	return g.show(cmd, out, func(p *printer) {
		p.line(out.Agent + " sits in " + out.Room + " and watches; let it speak with: parley room grant")
		p.note("%s", "its key: "+out.KeyID)
	})
}
