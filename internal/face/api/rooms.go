package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley.internal/internal/face/front"
	"parley.internal/internal/identity"
	"parley.internal/internal/room"
	"parley.internal/protocol/kibitz"
	"parley.internal/protocol/rest"
)

// RegisterRooms adds rooms: opening, policy, grants, commands, invites, trail. A
// change here is the same change as by a frame of a host. Seats may be nil: then
// there are no demos.
func RegisterRooms(a *API, rooms room.API, seats RoomSeats, people RoomPeople, websites front.Websites) {
	rr := roomRoutes{rooms, seats, people, websites}
	inRooms(a, rest.ListRooms, rr.list)
	inRooms(a, rest.OpenRoom, rr.open)
	inRoom(a, rr, rest.GetRoom, rr.get)
	inRoom(a, rr, rest.CloseRoom, rr.remove)
	inRoom(a, rr, rest.RoomPolicy, rr.policy)
	inRoom(a, rr, rest.SetRoomPolicy, rr.setPolicy)
	inRoom(a, rr, rest.AllowKey, rr.allow)
	inRoom(a, rr, rest.RevokeKey, rr.revoke)
	inRoom(a, rr, rest.RoomRoster, rr.roster)
	inRoom(a, rr, rest.SetGrant, rr.grant)
	inRoom(a, rr, rest.ClearGrant, rr.ungrant)
	inRoom(a, rr, rest.CommandRoom, rr.command)
	inRoom(a, rr, rest.InviteToRoom, rr.invite)
	// A pass is given on the hub's own page only: no website makes one for itself.
	addWire(a, roomDialect, access{Scope: identity.Rooms, Tag: "rooms"}, rest.PassToRoom, rr.pass)
	inRoom(a, rr, rest.ListInvites, rr.invites)
	inRoom(a, rr, rest.WithdrawInvite, rr.withdraw)
	inRoom(a, rr, rest.ListBans, rr.bans)
	inRoom(a, rr, rest.GiveRoom, rr.giveTo)
	inRoom(a, rr, rest.ListHosts, rr.hosts)
	inRoom(a, rr, rest.AppointHost, rr.appoint)
	inRoom(a, rr, rest.DismissHost, rr.dismiss)
	inRoom(a, rr, rest.RoomAudit, rr.audit)
}

type roomRoutes struct {
	rooms  room.API
	seats  RoomSeats
	people RoomPeople
	sites  front.Websites
}

// RoomPeople knows people by id and by name; *identity.Directory does.
type RoomPeople interface {
	Person(ctx context.Context, idOrName string) (identity.Person, error)
}

// roomDialect refuses with the codes of rooms.
var roomDialect = dialect{read: readRoomBody, write: json.Marshal, problem: roomProblem, badRequest: string(kibitz.ProtoBadFrame)}

func readRoomBody(data []byte, v any) error {
	if json.Unmarshal(data, v) != nil {
		return front.NewProblem(http.StatusBadRequest, string(kibitz.ProtoBadFrame), "the body is not the JSON object that is expected here", nil)
	}
	return nil
}

func roomProblem(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return front.NewProblem(http.StatusRequestEntityTooLarge, string(kibitz.LimitSize), "the request is too large", nil)
	}
	return front.RoomProblem(err)
}

// inRooms adds an operation that names no room there is.
func inRooms[In, Out any](a *API, op rest.Operation[In, Out], handle handler[In, Out]) {
	addWire(a, roomDialect, access{Scope: identity.Rooms, Tag: "rooms", Pages: front.ListedPages}, op, handle)
}

// inRoom adds an operation on a room. The handler is given its id.
func inRoom[In, Out any](a *API, rr roomRoutes, op rest.Operation[In, Out], handle func(ctx context.Context, who identity.Actor, id string, in *In) (Out, error)) {
	inRooms(a, op, func(ctx context.Context, who identity.Actor, in *In) (out Out, err error) {
		id, err := rr.rooms.Resolve(ctx, callOf(ctx).r.PathValue("room"))
		if err != nil {
			return out, err
		}
		return handle(ctx, who, id, in)
	})
}

func (rr roomRoutes) viewRoom(ctx context.Context, i room.Info) rest.Room {
	return rest.Room{Room: i.Room, Title: i.Title, URL: "/r/" + i.Room, WS: "/rooms/" + i.Room + "/ws", Key: i.Key, Version: i.Version, Owner: rr.nameOf(ctx, i.Owner)}
}

func (rr roomRoutes) infoRoom(ctx context.Context, i room.Info) rest.RoomInfo {
	return rest.RoomInfo{Room: rr.viewRoom(ctx, i), Members: i.Members, Agents: i.Agents, Locked: i.Locked}
}

func (rr roomRoutes) list(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Rooms, error) {
	list, err := rr.rooms.List(ctx, who)
	return rest.Rooms{Rooms: each(list, func(i room.Info) rest.RoomInfo { return rr.infoRoom(ctx, i) })}, err
}

func (rr roomRoutes) open(ctx context.Context, who identity.Actor, in *rest.RoomRequest) (rest.Room, error) {
	if string(in.Policy) == "null" {
		in.Policy = nil
	}
	info, err := rr.openRoom(ctx, who, room.OpenRequest{Room: in.Room, Title: in.Title, Policy: in.Policy}, in.Demo)
	return rr.viewRoom(ctx, info), err
}

func (rr roomRoutes) get(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.RoomInfo, error) {
	info, err := rr.rooms.Get(ctx, who, id)
	return rr.infoRoom(ctx, info), err
}

func (rr roomRoutes) remove(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.None, error) {
	return rest.None{}, rr.rooms.Close(ctx, who, id)
}

// viewPolicy shows a policy; its version is what a change compares.
func viewPolicy(ctx context.Context, p room.PolicyState, err error) (rest.PolicyState, error) {
	if err == nil {
		callOf(ctx).w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(p.Version, 10)))
	}
	return rest.PolicyState(p), err
}

func (rr roomRoutes) policy(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.PolicyState, error) {
	p, err := rr.rooms.Policy(ctx, who, id)
	return viewPolicy(ctx, p, err)
}

// ifMatch is the version a caller has seen; 0 when it says nothing.
func ifMatch(text string) (int64, error) {
	if text == "" || text == "*" {
		return 0, nil
	}
	v, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(text, "W/"), `"`), 10, 64)
	if err != nil || v < 1 {
		return 0, room.ErrStale
	}
	return v, nil
}

func (rr roomRoutes) setPolicy(ctx context.Context, who identity.Actor, id string, in *rest.PolicyChange) (rest.PolicyState, error) {
	var doc map[string]json.RawMessage
	if json.Unmarshal(in.Body, &doc) != nil {
		return rest.PolicyState{}, &kibitz.Refusal{Code: kibitz.PolicyBad, Reason: "a policy is a JSON object"}
	}
	seen, err := ifMatch(in.IfMatch)
	if err != nil {
		return rest.PolicyState{}, err
	}
	token, signed := doc["manifest"]
	if !signed {
		p, err := rr.rooms.SetPolicy(ctx, who, id, in.Body, seen)
		return viewPolicy(ctx, p, err)
	}
	var text string
	if json.Unmarshal(token, &text) != nil || len(doc) != 2 {
		return rest.PolicyState{}, &kibitz.Refusal{Code: kibitz.PolicyBad, Reason: "a signed policy has manifest and key"}
	}
	p, err := rr.rooms.SetManifest(ctx, who, id, text, kibitz.Raw(doc["key"]), seen)
	return viewPolicy(ctx, p, err)
}

func (rr roomRoutes) allow(ctx context.Context, who identity.Actor, id string, in *rest.KeyAllowance) (rest.PolicyState, error) {
	p, err := rr.rooms.Allow(ctx, who, id, in.Body)
	return viewPolicy(ctx, p, err)
}

func (rr roomRoutes) revoke(ctx context.Context, who identity.Actor, id string, in *rest.RoomKey) (rest.PolicyState, error) {
	p, err := rr.rooms.Revoke(ctx, who, id, in.Thumbprint)
	return viewPolicy(ctx, p, err)
}

func (rr roomRoutes) roster(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.RosterState, error) {
	s, err := rr.rooms.Roster(ctx, who, id)
	return rest.RosterState(s), err
}

func (rr roomRoutes) grant(ctx context.Context, who identity.Actor, id string, in *rest.GrantChange) (rest.GrantState, error) {
	g := kibitz.Sanitise(kibitz.Raw(in.Body))
	s, err := rr.rooms.SetGrant(ctx, who, id, in.Participant.Participant, &g)
	return rest.GrantState(s), err
}

func (rr roomRoutes) ungrant(ctx context.Context, who identity.Actor, id string, in *rest.Participant) (rest.GrantState, error) {
	s, err := rr.rooms.SetGrant(ctx, who, id, in.Participant, nil)
	return rest.GrantState(s), err
}

func (rr roomRoutes) command(ctx context.Context, who identity.Actor, id string, in *rest.RoomCommand) (rest.Done, error) {
	return rest.Done{OK: true}, rr.rooms.Command(ctx, who, id, room.HostCommand(in.Body))
}

// pass lets a page of a listed website enter as whoever asks.
func (rr roomRoutes) pass(ctx context.Context, who identity.Actor, in *rest.RoomPassRequest) (rest.RoomPass, error) {
	id, err := rr.rooms.Resolve(ctx, in.Room)
	if err != nil {
		return rest.RoomPass{}, err
	}
	listed, err := rr.sites.Listed(ctx, in.Body.Origin)
	if err != nil {
		return rest.RoomPass{}, err
	}
	if !listed {
		return rest.RoomPass{}, front.NewProblem(http.StatusForbidden, "origin_not_listed", "the website is not listed on this hub", nil)
	}
	p, err := rr.rooms.Pass(ctx, who, id, in.Body.Origin)
	return rest.RoomPass(p), err
}

func (rr roomRoutes) invite(ctx context.Context, who identity.Actor, id string, in *rest.RoomInvitation) (rest.Invite, error) {
	ttl := time.Duration(min(in.Body.TTL, 400*24*3600) * float64(time.Second))
	made, err := rr.rooms.Invite(ctx, who, id, room.InviteRequest{Name: in.Body.Name, TTL: ttl, JKT: in.Body.JKT, Caps: in.Body.Caps})
	return rest.Invite{ID: made.ID, Token: made.Token, URL: "/r/" + id + "#i=" + made.Token}, err
}

func (rr roomRoutes) invites(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.Invites, error) {
	list, err := rr.rooms.Invites(ctx, who, id)
	return rest.Invites{Invites: each(list, func(i room.Invited) rest.Invited { return rest.Invited(i) })}, err
}

func (rr roomRoutes) withdraw(ctx context.Context, who identity.Actor, id string, in *rest.InviteName) (rest.None, error) {
	return rest.None{}, rr.rooms.Withdraw(ctx, who, id, in.Invite)
}

func (rr roomRoutes) bans(ctx context.Context, who identity.Actor, id string, _ *rest.RoomName) (rest.Bans, error) {
	list, err := rr.rooms.Bans(ctx, who, id)
	return rest.Bans{Bans: each(list, func(b room.Ban) rest.Ban { return rest.Ban(b) })}, err
}

func (rr roomRoutes) audit(ctx context.Context, who identity.Actor, id string, in *rest.RoomAuditQuery) (rest.RoomEntries, error) {
	page, err := rr.rooms.Audit(ctx, who, id, room.AuditQuery{After: max(in.After, 0), Limit: in.Limit, Kind: in.Kind, ID: in.ID})
	return rest.RoomEntries{Entries: each(page.Entries, func(e room.AuditEntry) rest.RoomEntry { return rest.RoomEntry(e) }), Next: page.Next}, err
}
