package api

import (
	"context"

	"parley.internal/internal/identity"
	"parley.internal/internal/workspace"
	"parley.internal/protocol/rest"
)

// RegisterWorkspace adds who may use whose folder. A grant is made with the right that
// reaches the folder oneself: to hand tasks to agents.
func RegisterWorkspace(a *API, g *workspace.Grants) {
	r, own := workspaceRoutes{g}, access{Scope: identity.TaskSubmit, Tag: "workspace"}
	add(a, own, rest.ListWorkspaceGrants, r.list)
	addBody(a, own, rest.GrantWorkspace, r.give)
	add(a, own, rest.RevokeWorkspaceGrant, r.takeBack)
}

type workspaceRoutes struct{ g *workspace.Grants }

func viewWorkspaceGrant(g workspace.Grant, who identity.Actor) rest.WorkspaceGrant {
	return rest.WorkspaceGrant{
		ID: g.ID, Owner: g.OwnerName, Person: g.PersonName, Mine: g.Owner == who.Person.ID, Folder: g.Folder, Path: g.Path, ReadOnly: g.ReadOnly, Created: g.Created, Until: g.Until,
	}
}

func (r workspaceRoutes) list(ctx context.Context, who identity.Actor, _ *rest.None) (rest.WorkspaceGrants, error) {
	found, err := r.g.List(ctx, who)
	return rest.WorkspaceGrants{Grants: each(found, func(g workspace.Grant) rest.WorkspaceGrant { return viewWorkspaceGrant(g, who) })}, err
}

func (r workspaceRoutes) give(ctx context.Context, who identity.Actor, in *rest.WorkspaceGrantRequest) (rest.WorkspaceGrant, error) {
	g, err := r.g.Give(ctx, who, in.Person, in.Folder, in.ReadOnly, in.Until)
	return viewWorkspaceGrant(g, who), err
}

func (r workspaceRoutes) takeBack(ctx context.Context, who identity.Actor, in *rest.ByID) (rest.None, error) {
	return rest.None{}, r.g.TakeBack(ctx, who, in.ID)
}
