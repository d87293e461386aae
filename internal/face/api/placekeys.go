package api

import (
	"context"
	"time"

	"parley/internal/identity"
	"parley/internal/place"
	"parley/protocol/mmp/board"
)

type placePin struct {
	Agent       string    `json:"agent"`
	KeyID       string    `json:"key_id"`
	Fingerprint string    `json:"fingerprint"`
	Previous    string    `json:"previous_fingerprint,omitempty"`
	Proof       string    `json:"proof" doc:"empty, static or challenge"`
	Registered  time.Time `json:"registered_at"`
	Changed     time.Time `json:"changed_at"`
	Proven      time.Time `json:"proven_at"`
	Envelopes   []int     `json:"envelopes"`
	Trusted     bool      `json:"trusted"`
	Sessions    int       `json:"sessions"`
}

type placePins struct {
	Body struct {
		Keys []placePin `json:"keys"`
	}
}

func (r placeRoutes) keys(ctx context.Context, who identity.Actor, in *placeLimit) (*placePins, error) {
	found, err := r.place.Pins(ctx, visitor(who), in.Limit)
	out := &placePins{}
	out.Body.Keys = []placePin{}
	for _, p := range found {
		out.Body.Keys = append(out.Body.Keys, placePin(p))
	}
	return out, err
}

func (r placeRoutes) forget(ctx context.Context, who identity.Actor, in *placeID) (*struct{}, error) {
	return nil, r.place.Forget(ctx, visitor(who), in.ID)
}

type placeTrust struct {
	KeyID   string    `json:"key_id"`
	Address string    `json:"address"`
	By      string    `json:"trusted_by"`
	At      time.Time `json:"at"`
}

type placeTrusts struct {
	Body struct {
		Trusted []placeTrust `json:"trusted"`
	}
}

func (r placeRoutes) trusted(ctx context.Context, who identity.Actor, _ *struct{}) (*placeTrusts, error) {
	found, err := r.place.Trusted(ctx, visitor(who))
	out := &placeTrusts{}
	out.Body.Trusted = []placeTrust{}
	for _, t := range found {
		out.Body.Trusted = append(out.Body.Trusted, placeTrust(t))
	}
	return out, err
}

type trustRequest struct {
	Body struct {
		Address string `json:"address" maxLength:"256"`
		KeyID   string `json:"key_id" doc:"the key the person looked at; another one is refused" maxLength:"128"`
	}
}

type trustAnswer struct{ Body placeTrust }

func (r placeRoutes) trust(ctx context.Context, who identity.Actor, in *trustRequest) (*trustAnswer, error) {
	t, err := r.place.Trust(ctx, visitor(who), in.Body.Address, in.Body.KeyID)
	return &trustAnswer{placeTrust(t)}, err
}

type placeKeyPath struct {
	Key string `path:"key" maxLength:"128"`
}

func (r placeRoutes) untrust(ctx context.Context, who identity.Actor, in *placeKeyPath) (*struct{}, error) {
	return nil, r.place.Untrust(ctx, visitor(who), in.Key)
}

type placeAuditQuery struct {
	Type  string    `query:"type"`
	Agent string    `query:"agent_id" maxLength:"128"`
	Since time.Time `query:"since"`
	Limit int       `query:"limit" minimum:"1" maximum:"10000" default:"100"`
}

type placeEvent struct {
	At           time.Time `json:"at"`
	Event        string    `json:"event_type"`
	Action       string    `json:"action"`
	RelayID      string    `json:"relay_id,omitempty"`
	Participants []string  `json:"participants,omitempty"`
	MessageType  string    `json:"message_type,omitempty"`
	SizeBytes    *int64    `json:"size_bytes,omitempty"`
	AgentID      string    `json:"agent_id,omitempty"`
	KeyID        string    `json:"key_id,omitempty"`
	Changed      *bool     `json:"changed,omitempty"`
	Proof        string    `json:"proof,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	PostingID    string    `json:"posting_id,omitempty"`
	SkillID      string    `json:"skill_id,omitempty"`
	Peer         string    `json:"peer,omitempty"`
}

type placeEvents struct {
	Body struct {
		Events []placeEvent `json:"events"`
	}
}

func (r placeRoutes) audit(ctx context.Context, who identity.Actor, in *placeAuditQuery) (*placeEvents, error) {
	found, err := r.place.Audit(ctx, visitor(who), board.AuditQuery{Limit: in.Limit, Type: in.Type, AgentID: in.Agent, Since: in.Since})
	out := &placeEvents{}
	out.Body.Events = []placeEvent{}
	for _, e := range found.Entries {
		out.Body.Events = append(out.Body.Events, placeEvent{
			At: e.Timestamp.Time, Event: e.EventType, Action: e.Action, RelayID: e.RelayID, Participants: e.Participants, MessageType: e.MessageType,
			SizeBytes: e.SizeBytes, AgentID: e.AgentID, KeyID: e.KeyID, Changed: e.Changed, Proof: e.Proof, Reason: e.Reason,
			PostingID: e.PostingID, SkillID: e.SkillID, Peer: e.Peer,
		})
	}
	return out, err
}

type placeHour struct {
	Hour   string `json:"hour" doc:"YYYY-MM-DD HH:00, UTC"`
	Relays int64  `json:"relays"`
	Bytes  int64  `json:"bytes"`
	Agents int64  `json:"agents"`
}

type placeHours struct {
	Body struct {
		Hours         []placeHour `json:"hours"`
		Relays        int64       `json:"total_relays"`
		Bytes         int64       `json:"total_bytes"`
		Registrations int64       `json:"total_registrations"`
		Dropped       int64       `json:"total_dropped"`
		Refused       int64       `json:"total_refused"`
		Expired       int64       `json:"total_expired"`
	}
}

func (r placeRoutes) hours(ctx context.Context, who identity.Actor, in *hoursQuery) (*placeHours, error) {
	stats, err := r.place.AuditStats(ctx, visitor(who), in.Hours)
	out := &placeHours{}
	out.Body.Hours = []placeHour{}
	for _, key := range board.HourKeys(time.Now(), in.Hours) {
		h := stats.Hourly[key]
		out.Body.Hours = append(out.Body.Hours, placeHour{key, h.RelayCount, h.TotalBytes, h.UniqueAgents})
	}
	s := stats.Summary
	out.Body.Relays, out.Body.Bytes, out.Body.Registrations = s.TotalRelays, s.TotalBytesRelayed, s.TotalRegistrations
	out.Body.Dropped, out.Body.Refused, out.Body.Expired = s.TotalDropped, s.TotalRefused, s.TotalExpired
	return out, err
}

func (r placeRoutes) salt(ctx context.Context, who identity.Actor, _ *struct{}) (*struct{}, error) {
	return nil, r.place.RenewSalt(ctx, visitor(who))
}

type placePeer struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`
	Key     string    `json:"key"`
	PlaceID string    `json:"place_id"`
	Added   time.Time `json:"added_at"`
	Seen    time.Time `json:"seen_at"`
	Problem string    `json:"problem"`
	Agents  int       `json:"agents"`
	Waiting int       `json:"waiting"`
}

type placePeers struct {
	Body struct {
		Peers []placePeer `json:"peers"`
	}
}

func (r placeRoutes) peers(ctx context.Context, who identity.Actor, _ *struct{}) (*placePeers, error) {
	found, err := r.place.Peers(ctx, visitor(who))
	out := &placePeers{}
	out.Body.Peers = []placePeer{}
	for _, p := range found {
		out.Body.Peers = append(out.Body.Peers, placePeer(p))
	}
	return out, err
}

type peerRequest struct {
	Body struct {
		Name string `json:"name" maxLength:"64"`
		URL  string `json:"url" maxLength:"2000"`
		Key  string `json:"key" maxLength:"200" doc:"ed25519:…, as that place's info shows it"`
	}
}

type peerAnswer struct{ Body placePeer }

func (r placeRoutes) addPeer(ctx context.Context, who identity.Actor, in *peerRequest) (*peerAnswer, error) {
	p, err := r.place.AddPeer(ctx, visitor(who), place.Peer{Name: in.Body.Name, URL: in.Body.URL, Key: in.Body.Key})
	return &peerAnswer{placePeer(p)}, err
}

type placePeerPath struct {
	Name string `path:"name" maxLength:"64"`
}

func (r placeRoutes) removePeer(ctx context.Context, who identity.Actor, in *placePeerPath) (*struct{}, error) {
	return nil, r.place.RemovePeer(ctx, visitor(who), in.Name)
}
