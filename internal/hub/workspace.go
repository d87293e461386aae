package hub

import (
	"context"
	"net/http"
	"os"
	"strings"

	"parley.internal/internal/face/front"
	"parley.internal/internal/workspace"
)

// workspaceErrors are refusals of sharing a folder.
var workspaceErrors = []front.Mapping{
	{Is: workspace.ErrNoGrant, Status: http.StatusNotFound, Code: "not_found"}, {Is: workspace.ErrBadGrant, Status: http.StatusBadRequest, Code: "bad_grant"},
}

// openSpaces says where people's agents work. The owner's folder is made at once:
// it is where people look first.
func (h *Hub) openSpaces(ctx context.Context) error {
	h.spaces = workspace.New(workspace.Options{Data: h.conf.Data, Owner: h.ownerID(ctx), Log: h.logger})
	h.grants = &workspace.Grants{DB: h.db, Spaces: h.spaces, People: h.people, Trail: h.trail, Log: h.logger}
	return os.MkdirAll(h.spaces.Owners(), 0o700)
}

// whoseFolder is whose folder agents work in for a sender.
func (h *Hub) whoseFolder(sender string) workspace.Whose {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if person, err := h.people.BySender(ctx, sender); err == nil {
		return workspace.Person(person.ID)
	}
	return workspace.Sender(sender)
}

// folderOf is the folder of somebody as the trail names them ("person:alice").
func (h *Hub) folderOf(by string) string {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	name, _ := strings.CutPrefix(by, "person:")
	if person, err := h.people.Person(ctx, name); err == nil {
		return h.spaces.Dir(workspace.Person(person.ID), "")
	}
	return h.spaces.Dir(workspace.Sender(by), "")
}
