package hub

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"

	"parley.internal/internal/face/api"
	"parley.internal/internal/face/front"
	facemcp "parley.internal/internal/face/mcp"
	"parley.internal/internal/identity"
	"parley.internal/internal/judge/speak"
)

// mcpPart is every other part as tools for language models; it comes last.
func (h *Hub) mcpPart() part {
	return part{
		name: "mcp", faces: h.openMCP,
		routes: func(routes *front.Routes, _ *api.API) error {
			h.mcpFace.Mount(routes)
			return nil
		},
		count: func(_ context.Context, _ identity.Actor, counts map[string]int64) error {
			counts["mcp_sessions"] = int64(h.mcpFace.Sessions())
			return nil
		},
		drain: func(ctx context.Context) error { return h.mcpFace.Close(ctx) },
	}
}

func (h *Hub) openMCP(ctx context.Context) error {
	// All hubs of a cluster share the key this comes from, so that an answer may
	// reach another hub than the question.
	key, err := hkdf.Key(sha256.New, h.key.Seed(), nil, "parley mcp question v1", sha256.Size)
	if err != nil {
		return err
	}
	h.mcpFace, err = facemcp.New(facemcp.Deps{
		Toolsets: h.toolsets(ctx), Front: h.front, People: h.people, Trail: h.trail, Log: h.logger, Version: h.opts.Version,
		URL: func() string { return h.conf.PublicURL }, Key: key,
	})
	if err != nil {
		return err
	}
	h.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), checkTime)
		defer cancel()
		return h.mcpFace.Close(ctx)
	})
	return nil
}

// speaking asks before something is said to others in somebody's name.
func (h *Hub) speaking(ctx context.Context) speak.Gate {
	return speak.Gate{Rules: h.approvalRules(ctx), Inbox: h.inbox}
}

// toolsets is what each part offers.
func (h *Hub) toolsets(ctx context.Context) []facemcp.Toolset {
	say := h.speaking(ctx).Allow
	return []facemcp.Toolset{
		facemcp.Agents(h.talk, h.minds.agents),
		facemcp.Tasks(h.work),
		facemcp.Fleet(h.fleet, facemcp.FleetOptions{
			RequireAgentID: h.conf.Fleet.MCP.RequireAgentID, InboxOnly: h.conf.Fleet.Approval.MCP == "inbox",
		}),
		facemcp.Room(h.rooms, facemcp.RoomOptions{Allow: say}),
		facemcp.Place(h.place, h.hosts.AgentOf, say, facemcp.SkillTools(h.skills, h.hosts)...),
	}
}
