package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/protocol/rest"
)

// RegisterStatus adds the one look; gather makes it for a caller.
func RegisterStatus(a *API, gather func(ctx context.Context, who identity.Actor) (rest.Status, error)) {
	add(a, access{Scope: identity.StatusRead, Tag: "hub"}, rest.GetStatus,
		func(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Status, error) {
			return gather(ctx, who)
		})
}

// RegisterCluster adds the look at all hubs; gather makes it.
func RegisterCluster(a *API, gather func(ctx context.Context) (rest.Cluster, error)) {
	add(a, access{Scope: identity.Admin, Tag: "hub"}, rest.GetCluster,
		func(ctx context.Context, _ identity.Actor, _ *rest.None) (rest.Cluster, error) { return gather(ctx) })
}

// RegisterSpend adds what agents used today and this month; gather makes it.
// Their limits are a part of /api/agents.
func RegisterSpend(a *API, gather func(ctx context.Context) ([]rest.AgentSpend, error)) {
	add(a, access{Scope: identity.AgentsManage, Tag: "agents"}, rest.ListSpend,
		func(ctx context.Context, _ identity.Actor, _ *rest.None) (rest.Spend, error) {
			list, err := gather(ctx)
			return rest.Spend{Agents: list}, err
		})
}
