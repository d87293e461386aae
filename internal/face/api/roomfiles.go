package api

import (
	"context"
	"net/http"

	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

// RegisterRoomFiles adds files that are shown in rooms. The right to one is to be there: a
// digest that was said, or kept, opens nothing.
func RegisterRoomFiles(a *API, rooms room.API, s *files.Store) {
	r := roomFiles{rooms, s}
	inRoom(a, roomRoutes{rooms: rooms}, rest.ShareInRoom, r.share)
	addRaw(a, access{Scope: identity.Rooms, Tag: "rooms"}, rest.GetRoomFile, r.get)
}

type roomFiles struct {
	rooms room.API
	files *files.Store
}

func (r roomFiles) share(ctx context.Context, who identity.Actor, id string, in *rest.RoomFile) (rest.File, error) {
	if err := r.rooms.Present(ctx, who, id, kibitz.SendChat); err != nil {
		return rest.File{}, err
	}
	f, err := r.files.ShowIn(ctx, who, files.Room(id), in.Body.Digest)
	return viewFile(f), err
}

func (r roomFiles) get(w http.ResponseWriter, req *http.Request, who identity.Actor) error {
	id, err := r.rooms.Resolve(req.Context(), req.PathValue("room"))
	if err == nil {
		err = r.rooms.Present(req.Context(), who, id, kibitz.ReadChat)
	}
	if err != nil {
		return roomProblem(err)
	}
	f, data, err := r.files.Of(req.Context(), files.Room(id), req.PathValue("digest"))
	if err != nil {
		return err
	}
	showFile(w, req, f, data)
	return nil
}
