package rest

import "time"

// Folders of agents that are shared.
var (
	ListWorkspaceGrants  = Get[None, WorkspaceGrants]("/api/workspace/grants", "Folders that one shared, and that others shared with one")
	GrantWorkspace       = Post[WorkspaceGrantRequest, WorkspaceGrant]("/api/workspace/grants", "Let the agents of somebody use a folder of one's own").Created()
	RevokeWorkspaceGrant = Delete[ByID, None]("/api/workspace/grants/{id}", "Take a grant back, or give up one that one was given; it ends at once")
)

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

// WorkspaceGrants is a list of them.
type WorkspaceGrants struct {
	Grants []WorkspaceGrant `json:"grants"`
}

// WorkspaceGrantRequest shares a folder.
type WorkspaceGrantRequest struct {
	Person   string    `json:"person" minLength:"1" maxLength:"256" doc:"name or id"`
	Folder   string    `json:"folder,omitempty" maxLength:"1024" doc:"in one's own folder; left out, all of it"`
	ReadOnly bool      `json:"read_only,omitempty"`
	Until    time.Time `json:"until,omitzero" doc:"when it ends by itself; left out, when it is taken back"`
}
