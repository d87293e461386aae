package api

import (
	"context"
	"net/http"
	"time"

	"parley/internal/identity"
	"parley/internal/workspace"
)

// RegisterWorkspace adds who may use whose folder. A grant is made with the right that
// reaches the folder oneself: to hand tasks to agents.
func RegisterWorkspace(a *API, g *workspace.Grants) {
	rt := func(method, path, summary string, status int) route {
		return route{Method: method, Path: "/api/workspace/grants" + path, Scope: identity.TaskSubmit, Tag: "workspace", Summary: summary, Status: status}
	}
	r := workspaceRoutes{g}
	add(a, rt("GET", "", "Folders that one shared, and that others shared with one", 0), r.list)
	add(a, rt("POST", "", "Let the agents of somebody use a folder of one's own", http.StatusCreated), r.give)
	add(a, rt("DELETE", "/{id}", "Take a grant back, or give up one that one was given; it ends at once", http.StatusNoContent), r.takeBack)
}

type workspaceRoutes struct{ g *workspace.Grants }

// WorkspaceGrant is one person's folder that another's agents may use.
type WorkspaceGrant struct {
	ID       string    `json:"id"`
	Owner    string    `json:"owner" doc:"whose folder it is"`
	Person   string    `json:"person" doc:"who may use it"`
	Mine     bool      `json:"mine" doc:"it is one's own folder"`
	Folder   string    `json:"folder" doc:"in the owner's folder; . is all of it"`
	Path     string    `json:"path,omitempty" doc:"where that is on the hub's machine, as agents name it; missing when it is not there any more"`
	ReadOnly bool      `json:"read_only"`
	Created  time.Time `json:"created_at"`
	Until    time.Time `json:"until,omitzero"`
}

func workspaceGrantOf(g workspace.Grant, who identity.Actor) WorkspaceGrant {
	return WorkspaceGrant{
		ID: g.ID, Owner: g.OwnerName, Person: g.PersonName, Mine: g.Owner == who.Person.ID, Folder: g.Folder, Path: g.Path, ReadOnly: g.ReadOnly, Created: g.Created, Until: g.Until,
	}
}

type workspaceGrants struct {
	Body struct {
		Grants []WorkspaceGrant `json:"grants"`
	}
}

func (r workspaceRoutes) list(ctx context.Context, who identity.Actor, _ *struct{}) (*workspaceGrants, error) {
	found, err := r.g.List(ctx, who)
	out := &workspaceGrants{}
	out.Body.Grants = []WorkspaceGrant{}
	for _, g := range found {
		out.Body.Grants = append(out.Body.Grants, workspaceGrantOf(g, who))
	}
	return out, err
}

type workspaceGive struct {
	Body struct {
		Person   string    `json:"person" minLength:"1" maxLength:"256" doc:"name or id"`
		Folder   string    `json:"folder,omitempty" maxLength:"1024" doc:"in one's own folder; left out, all of it"`
		ReadOnly bool      `json:"read_only,omitempty"`
		Until    time.Time `json:"until,omitzero" doc:"when it ends by itself; left out, when it is taken back"`
	}
}

type workspaceGiven struct{ Body WorkspaceGrant }

func (r workspaceRoutes) give(ctx context.Context, who identity.Actor, in *workspaceGive) (*workspaceGiven, error) {
	g, err := r.g.Give(ctx, who, in.Body.Person, in.Body.Folder, in.Body.ReadOnly, in.Body.Until)
	return &workspaceGiven{workspaceGrantOf(g, who)}, err
}

func (r workspaceRoutes) takeBack(ctx context.Context, who identity.Actor, in *byID) (*struct{}, error) {
	return nil, r.g.TakeBack(ctx, who, in.ID)
}
