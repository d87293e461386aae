package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/internal/face/front"
	"parley/internal/identity"
	"parley/internal/room"
	"parley/protocol/kibitz"
)

// RegisterRooms adds rooms: opening, policy, grants, commands, invites, trail. A
// change here is the same change as by a frame of a host. Seats may be nil: then
// there are no demos.
func RegisterRooms(a *API, rooms room.API, seats RoomSeats, people RoomPeople) {
	rr := roomRoutes{rooms, seats, people}
	at := func(method, path, summary string, handle roomHandler) {
		rt := rawRoute{route{Method: method, Path: "/api/rooms" + path, Scope: identity.Rooms, Tag: "rooms", Summary: summary}, "application/json"}
		addRaw(a, rt, func(w http.ResponseWriter, r *http.Request, s identity.Actor) error {
			return front.RoomProblem(handle(w, r, s))
		})
	}
	at("GET", "", "List rooms", rr.list)
	at("POST", "", "Open a room", rr.open)
	at("GET", "/{room}", "One room", rr.get)
	at("DELETE", "/{room}", "Close a room for good", rr.remove)
	at("GET", "/{room}/policy", "Who may enter, with which grants; ETag is the version", rr.policy)
	at("PUT", "/{room}/policy", "Replace the policy, or take a signed manifest; If-Match compares the version", rr.setPolicy)
	at("POST", "/{room}/keys", "Allow an agent key, or change its grant", rr.allow)
	at("DELETE", "/{room}/keys/{thumbprint}", "Revoke an agent key; its presence ends at once", rr.revoke)
	at("GET", "/{room}/roster", "Who is here, unredacted, with all grants", rr.roster)
	at("PUT", "/{room}/grants/{participant}", "Override a participant's grant", rr.grant)
	at("DELETE", "/{room}/grants/{participant}", "Remove the override", rr.grant)
	at("POST", "/{room}/commands", "A host's command: lobbyon, lobbyoff, admit, deny, lock, unlock, reset, kick, ban, unban, publisher, unpublisher", rr.command)
	at("POST", "/{room}/invites", "Make a pass to the room", rr.invite)
	at("GET", "/{room}/bans", "Who may not come back", rr.bans)
	at("PUT", "/{room}/owner", "Give the room to another person", rr.giveTo)
	at("GET", "/{room}/hosts", "Whom its owner made a host", rr.hosts)
	at("PUT", "/{room}/hosts/{person}", "Make a person a host; ttl is in seconds, none is for good", rr.appoint)
	at("DELETE", "/{room}/hosts/{person}", "Make them a host no more", rr.dismiss)
	at("GET", "/{room}/audit", "The room's part of the audit trail, ascending; query: after, limit, kind, id", rr.audit)
}

type roomRoutes struct {
	rooms  room.API
	seats  RoomSeats
	people RoomPeople
}

// RoomPeople knows people by id and by name; *identity.Directory does.
type RoomPeople interface {
	Person(ctx context.Context, idOrName string) (identity.Person, error)
}

type roomHandler func(w http.ResponseWriter, r *http.Request, who identity.Actor) error

// readBody reads a JSON object into v.
func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return front.NewProblem(http.StatusRequestEntityTooLarge, string(kibitz.LimitSize), "the request is too large", nil)
		}
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return front.NewProblem(http.StatusBadRequest, string(kibitz.ProtoBadFrame), "the body is not the JSON object that is expected here", nil)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client left
	return nil
}

// find gives the id of the room in the path.
func (rr roomRoutes) find(r *http.Request) (string, error) {
	return rr.rooms.Resolve(r.Context(), r.PathValue("room"))
}

// roomView is a room with its addresses.
type roomView struct {
	Room    string     `json:"room"`
	Title   string     `json:"title"`
	URL     string     `json:"url"`
	WS      string     `json:"ws"`
	Key     kibitz.Raw `json:"key"`
	Version int64      `json:"version"`
	// Owner is the name of whose room it is.
	Owner string `json:"owner,omitempty"`
}

type roomInfo struct {
	roomView
	Members int  `json:"members"`
	Agents  int  `json:"agents"`
	Locked  bool `json:"locked"`
}

func (rr roomRoutes) viewRoom(ctx context.Context, i room.Info) roomView {
	return roomView{Room: i.Room, Title: i.Title, URL: "/r/" + i.Room, WS: "/rooms/" + i.Room + "/ws", Key: i.Key, Version: i.Version, Owner: rr.nameOf(ctx, i.Owner)}
}

func (rr roomRoutes) infoRoom(ctx context.Context, i room.Info) roomInfo {
	return roomInfo{roomView: rr.viewRoom(ctx, i), Members: i.Members, Agents: i.Agents, Locked: i.Locked}
}

func (rr roomRoutes) list(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	list, err := rr.rooms.List(r.Context(), who)
	if err != nil {
		return err
	}
	out := make([]roomInfo, len(list))
	for i, info := range list {
		out[i] = rr.infoRoom(r.Context(), info)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"rooms": out})
}

func (rr roomRoutes) open(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	var req struct {
		Room   string          `json:"room"`
		Title  string          `json:"title"`
		Policy json.RawMessage `json:"policy"`
		Demo   string          `json:"demo"`
	}
	if err := readBody(w, r, &req); err != nil {
		return err
	}
	if string(req.Policy) == "null" {
		req.Policy = nil
	}
	info, err := rr.openRoom(r.Context(), who, room.OpenRequest{Room: req.Room, Title: req.Title, Policy: req.Policy}, req.Demo)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, rr.viewRoom(r.Context(), info))
}

func (rr roomRoutes) get(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	info, err := rr.rooms.Get(r.Context(), who, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, rr.infoRoom(r.Context(), info))
}

func (rr roomRoutes) remove(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	if err := rr.rooms.Close(r.Context(), who, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func writePolicy(w http.ResponseWriter, p room.PolicyState) error {
	w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(p.Version, 10)))
	return writeJSON(w, http.StatusOK, p)
}

func (rr roomRoutes) policy(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	p, err := rr.rooms.Policy(r.Context(), who, id)
	if err != nil {
		return err
	}
	return writePolicy(w, p)
}

// ifMatch is the version a caller has seen; 0 when it says nothing.
func ifMatch(r *http.Request) (int64, error) {
	text := r.Header.Get("If-Match")
	if text == "" || text == "*" {
		return 0, nil
	}
	v, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(text, "W/"), `"`), 10, 64)
	if err != nil || v < 1 {
		return 0, room.ErrStale
	}
	return v, nil
}

func (rr roomRoutes) setPolicy(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	var doc map[string]json.RawMessage
	raw := json.RawMessage{}
	if err := readBody(w, r, &raw); err != nil {
		return err
	}
	if json.Unmarshal(raw, &doc) != nil {
		return &kibitz.Refusal{Code: kibitz.PolicyBad, Reason: "a policy is a JSON object"}
	}
	seen, err := ifMatch(r)
	if err != nil {
		return err
	}
	var p room.PolicyState
	if token, signed := doc["manifest"]; signed {
		var text string
		if json.Unmarshal(token, &text) != nil || len(doc) != 2 {
			return &kibitz.Refusal{Code: kibitz.PolicyBad, Reason: "a signed policy has manifest and key"}
		}
		p, err = rr.rooms.SetManifest(r.Context(), who, id, text, kibitz.Raw(doc["key"]), seen)
	} else {
		p, err = rr.rooms.SetPolicy(r.Context(), who, id, raw, seen)
	}
	if err != nil {
		return err
	}
	return writePolicy(w, p)
}

func (rr roomRoutes) allow(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	var key kibitz.AllowedKey
	if err := readBody(w, r, &key); err != nil {
		return err
	}
	p, err := rr.rooms.Allow(r.Context(), who, id, key)
	if err != nil {
		return err
	}
	return writePolicy(w, p)
}

func (rr roomRoutes) revoke(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	p, err := rr.rooms.Revoke(r.Context(), who, id, r.PathValue("thumbprint"))
	if err != nil {
		return err
	}
	return writePolicy(w, p)
}

func (rr roomRoutes) roster(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	s, err := rr.rooms.Roster(r.Context(), who, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s)
}

func (rr roomRoutes) grant(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	var grant *kibitz.Grant
	if r.Method == http.MethodPut {
		var raw json.RawMessage
		if err := readBody(w, r, &raw); err != nil {
			return err
		}
		g := kibitz.Sanitise(kibitz.Raw(raw))
		grant = &g
	}
	s, err := rr.rooms.SetGrant(r.Context(), who, id, r.PathValue("participant"), grant)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s)
}

func (rr roomRoutes) command(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	var cmd room.HostCommand
	if err := readBody(w, r, &cmd); err != nil {
		return err
	}
	if err := rr.rooms.Command(r.Context(), who, id, cmd); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

func (rr roomRoutes) invite(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	var req struct {
		Name string        `json:"name"`
		TTL  float64       `json:"ttl"`
		JKT  string        `json:"jkt"`
		Caps *kibitz.Grant `json:"caps"`
	}
	if err := readBody(w, r, &req); err != nil {
		return err
	}
	ttl := time.Duration(min(req.TTL, 400*24*3600) * float64(time.Second))
	in, err := rr.rooms.Invite(r.Context(), who, id, room.InviteRequest{Name: req.Name, TTL: ttl, JKT: req.JKT, Caps: req.Caps})
	if err != nil {
		return err
	}
	// The token stands in the fragment, which no server and no log sees.
	return writeJSON(w, http.StatusCreated, map[string]string{"token": in.Token, "url": "/r/" + id + "#i=" + in.Token})
}

func (rr roomRoutes) bans(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	bans, err := rr.rooms.Bans(r.Context(), who, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"bans": bans})
}

func (rr roomRoutes) audit(w http.ResponseWriter, r *http.Request, who identity.Actor) error {
	id, err := rr.find(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	after, _ := strconv.ParseInt(q.Get("after"), 10, 64)
	limit, _ := strconv.Atoi(q.Get("limit"))
	page, err := rr.rooms.Audit(r.Context(), who, id, room.AuditQuery{After: max(after, 0), Limit: limit, Kind: q.Get("kind"), ID: q.Get("id")})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, page)
}
