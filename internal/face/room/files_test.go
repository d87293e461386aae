package room_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/files"
	"parley.internal/internal/identity"
	"parley.internal/protocol/kibitz"
)

const picture = "\x89PNG\r\n\x1a\n a picture"

// put keeps a picture for whoever has the token.
func (h *hub) put(token string) string {
	h.t.Helper()
	who := must(h.people.Authenticate(h.t.Context(), token))(h.t)
	return must(h.files.Put(h.t.Context(), who, "photo.png", strings.NewReader(picture)))(h.t).Digest
}

// A digest is said in front of everybody, kept, and passed on: the right to the file is to be in
// the room, with the grant, at this moment.
func TestAFileShownInARoomIsThereForWhoIsThere(t *testing.T) {
	h := newHub(t)
	id := h.open("gallery", obj{"humans": obj{"mode": "open"}, "agents": obj{"mode": "open"}})
	bob, eve := h.newToken("bob", identity.Rooms, identity.Talk).Secret, h.newToken("eve", identity.Rooms, identity.Talk).Secret
	digest := h.put(h.token)
	list, address := "/api/rooms/"+id+"/files", "/api/rooms/"+id+"/files/"+digest
	open := func(what, token string, want int) {
		t.Helper()
		if status, _, _ := h.callAs(token, "GET", address, nil, nil); status != want {
			t.Errorf("%s opens the file with %d, want %d", what, status, want)
		}
	}
	show := func(what, token, digest string, want int) {
		t.Helper()
		if status, out, _ := h.callAs(token, "POST", list, obj{"digest": digest}, nil); status != want {
			t.Errorf("%s shows a file with %d %v, want %d", what, status, out, want)
		}
	}
	show("the owner of the room, who is not in it,", h.token, digest, http.StatusForbidden)
	h.host(id)
	guest := h.dial(id, bob).voice(obj{"name": "Bob"})
	open("bob, who knows the digest, before anybody showed it,", bob, http.StatusNotFound)
	show("bob, whose file it is not,", bob, digest, http.StatusNotFound)
	show("the owner", h.token, digest, http.StatusCreated)
	open("bob, who is here,", bob, http.StatusOK)
	open("eve, who is not here,", eve, http.StatusForbidden)
	open("bob with a token that has nothing to do with rooms", h.newToken("bob", identity.Talk).Secret, http.StatusForbidden)
	h.grant(id, guest.self.ID, "send-chat")
	open("bob, who may not read the chat any more,", bob, http.StatusForbidden)
	h.grant(id, guest.self.ID, "read-chat")
	open("bob, who may read it again,", bob, http.StatusOK)
	show("bob, who may not say anything,", bob, h.put(bob), http.StatusForbidden)
	guest.ok(obj{"t": "voice", "on": false})
	open("bob, who has left,", bob, http.StatusForbidden)
	if _, _, err := h.files.Of(t.Context(), files.Room(id), digest); err != nil {
		t.Errorf("the room does not hold its file: %v", err)
	}
	for deadline := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
		noted := must(h.trail.Query(t.Context(), audit.Filter{Action: string(audit.FileShared)}))(t)
		if len(noted) == 1 && noted[0].Target == digest {
			break
		}
		if len(noted) > 1 || time.Now().After(deadline) {
			t.Fatalf("the trail has %+v, want that the file was shown in the room once", noted)
		}
	}
	if status, _ := h.call("DELETE", "/api/rooms/"+id, nil); status >= http.StatusBadRequest {
		t.Fatalf("the room is not closed: %d", status)
	}
	if _, _, err := h.files.Of(t.Context(), files.Room(id), digest); err == nil {
		t.Error("a closed room holds its files")
	}
}

// The hub must not know what is shown in a sealed room, so it keeps nothing for it.
func TestASealedRoomHasNoFilesOfTheHub(t *testing.T) {
	h := newHub(t)
	id := h.open("vault", obj{"humans": obj{"mode": "open"}, "sealed": true})
	h.host(id)
	status, out, _ := h.callAs(h.token, "POST", "/api/rooms/"+id+"/files", obj{"digest": h.put(h.token)}, nil)
	if no, _ := out["error"].(obj); no["code"] != string(kibitz.SealRequired) {
		t.Errorf("a file in a sealed room: %d %v, want %s", status, out, kibitz.SealRequired)
	}
}
