package hub

import (
	"context"
	"encoding/json"

	"parley.internal/internal/bus"
	"parley.internal/internal/face/api"
	"parley.internal/internal/face/board"
	"parley.internal/internal/face/front"
	"parley.internal/internal/hub/metrics"
	"parley.internal/internal/identity"
	"parley.internal/protocol/viber"
)

// boardPart is the board protocol: tasks, approvals and terminals on /ws.
func (h *Hub) boardPart() part {
	return part{
		name: "board", faces: h.openBoard,
		routes: func(routes *front.Routes, _ *api.API) error {
			routes.Handle(h.board.Route(), h.board)
			return nil
		},
		count: func(_ context.Context, _ identity.Actor, counts map[string]int64) error {
			counts["boards"] = int64(h.board.Connections())
			return nil
		},
		drain: func(ctx context.Context) error {
			// Boards stay until they have seen how their tasks ended.
			h.work.Drain(ctx)
			return h.board.Close(ctx)
		},
	}
}

func (h *Hub) openBoard(ctx context.Context) error {
	l := h.conf.Board.Limits
	d := board.Deps{
		Work: h.work, Terminals: h.terminals, People: h.people, Front: h.front, Trail: h.trail, Version: h.opts.Version,
		Challenge: board.ChallengeMode(h.conf.Auth.Challenge), Log: h.logger,
		Limits: board.Limits{
			Limits: viber.Limits{
				MaxFrameUnauthenticated: l.MaxFrameUnauthenticated, MaxFrame: l.MaxFrame, MaxConnections: l.MaxConnections,
				MessagesPerSecond: l.MessagesPerSecond, SubmitsPerMinute: l.SubmitsPerMinute, MaxRunningTasks: l.MaxRunningTasks,
				MaxQueuedMessages: l.MaxQueuedMessages, MaxTerminals: l.MaxTerminals,
			},
			Unauthenticated: l.MaxUnauthenticated, AuthPerMinute: l.AuthPerMinute, PairPerMinute: l.PairingPerMinute, InputPerSecond: l.InputPerSecond,
		},
	}
	if h.conf.Auth.Mode == "none" {
		owner, err := h.people.Owner(ctx)
		if err != nil {
			return err
		}
		anybody := identity.Local(owner)
		d.Anonymous = &anybody
		h.logger.Warn("auth.mode none: every program on this machine is the owner on /ws")
	}
	if h.conf.NATS != "" {
		d.Arrived = h.tellNewcomer
	}
	h.board = board.New(d)
	h.present = h.board.Attended
	if h.conf.NATS != "" {
		if err := h.joinBoards(); err != nil {
			return err
		}
	}
	h.metrics.MustRegister(metrics.Board(h.board, h.terminals)...)
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), h.conf.ShutdownGrace)
		defer cancel()
		return h.board.Close(ctx)
	})
	return nil
}

// subjectNewcomer is where hubs tell each other of nodes that connected.
const subjectNewcomer = "board.newcomer"

func (h *Hub) tellNewcomer(n board.Newcomer) {
	data, err := json.Marshal(n)
	if err == nil {
		err = h.bus.Publish(subjectNewcomer, data)
	}
	if err != nil {
		h.logger.Warn("older connections of a node stay on other hubs", "error", err)
	}
}

// joinBoards makes the boards of a cluster's hubs one: who is there, and which
// connection of a node is the newest.
func (h *Hub) joinBoards() error {
	there, err := answerAttended(h.bus, h.board.Attended)
	if err != nil {
		return err
	}
	newer, err := h.bus.Subscribe(subjectNewcomer, func(m bus.Msg) {
		var n board.Newcomer
		if err := json.Unmarshal(m.Data, &n); err != nil {
			h.logger.Warn("another hub tells of an unreadable node", "error", err)
			return
		}
		h.board.Replace(n)
	})
	if err != nil {
		there.Close()
		return err
	}
	h.onClose(func() error {
		there.Close()
		newer.Close()
		return nil
	})
	return nil
}
