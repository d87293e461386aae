package api

import (
	"context"
	"time"

	"parley.internal/internal/identity"
	"parley.internal/internal/place"
	"parley.internal/protocol/mmp/board"
	"parley.internal/protocol/rest"
)

func (r placeRoutes) keys(ctx context.Context, who identity.Actor, in *rest.PlaceLimit) (rest.PlaceKeys, error) {
	found, err := r.place.Pins(ctx, visitor(who), in.Limit)
	return rest.PlaceKeys{Keys: each(found, func(v place.Pin) rest.PlaceKey { return rest.PlaceKey(v) })}, err
}

func (r placeRoutes) forget(ctx context.Context, who identity.Actor, in *rest.PlaceID) (rest.None, error) {
	return rest.None{}, r.place.Forget(ctx, visitor(who), in.ID)
}

func (r placeRoutes) trusted(ctx context.Context, who identity.Actor, _ *rest.None) (rest.TrustedKeys, error) {
	found, err := r.place.Trusted(ctx, visitor(who))
	return rest.TrustedKeys{Trusted: each(found, func(v place.Trust) rest.TrustedKey { return rest.TrustedKey(v) })}, err
}

func (r placeRoutes) trust(ctx context.Context, who identity.Actor, in *rest.TrustRequest) (rest.TrustedKey, error) {
	t, err := r.place.Trust(ctx, visitor(who), in.Address, in.KeyID)
	return rest.TrustedKey(t), err
}

func (r placeRoutes) untrust(ctx context.Context, who identity.Actor, in *rest.PlaceKeyID) (rest.None, error) {
	return rest.None{}, r.place.Untrust(ctx, visitor(who), in.Key)
}

func (r placeRoutes) audit(ctx context.Context, who identity.Actor, in *rest.PlaceAuditQuery) (rest.PlaceEvents, error) {
	found, err := r.place.Audit(ctx, visitor(who), board.AuditQuery{Limit: in.Limit, Type: in.Type, AgentID: in.Agent, Since: in.Since})
	return rest.PlaceEvents{Events: each(found.Entries, placeEventOf)}, err
}

func placeEventOf(e board.AuditEntry) rest.PlaceEvent {
	return rest.PlaceEvent{
		At: e.Timestamp.Time, Event: e.EventType, Action: e.Action, RelayID: e.RelayID, Participants: e.Participants, MessageType: e.MessageType,
		SizeBytes: e.SizeBytes, AgentID: e.AgentID, KeyID: e.KeyID, Changed: e.Changed, Proof: e.Proof, Reason: e.Reason,
		PostingID: e.PostingID, SkillID: e.SkillID, Peer: e.Peer,
	}
}

func (r placeRoutes) hours(ctx context.Context, who identity.Actor, in *rest.AuditHoursQuery) (rest.PlaceHours, error) {
	stats, err := r.place.AuditStats(ctx, visitor(who), in.Hours)
	out := rest.PlaceHours{Hours: []rest.PlaceHour{}}
	for _, key := range board.HourKeys(time.Now(), in.Hours) {
		h := stats.Hourly[key]
		out.Hours = append(out.Hours, rest.PlaceHour{Hour: key, Relays: h.RelayCount, Bytes: h.TotalBytes, Agents: h.UniqueAgents})
	}
	s := stats.Summary
	out.Relays, out.Bytes, out.Registrations = s.TotalRelays, s.TotalBytesRelayed, s.TotalRegistrations
	out.Dropped, out.Refused, out.Expired = s.TotalDropped, s.TotalRefused, s.TotalExpired
	return out, err
}

func (r placeRoutes) salt(ctx context.Context, who identity.Actor, _ *rest.None) (rest.None, error) {
	return rest.None{}, r.place.RenewSalt(ctx, visitor(who))
}

func (r placeRoutes) peers(ctx context.Context, who identity.Actor, _ *rest.None) (rest.Peers, error) {
	found, err := r.place.Peers(ctx, visitor(who))
	return rest.Peers{Peers: each(found, func(v place.Peer) rest.Peer { return rest.Peer(v) })}, err
}

func (r placeRoutes) addPeer(ctx context.Context, who identity.Actor, in *rest.PeerRequest) (rest.Peer, error) {
	p, err := r.place.AddPeer(ctx, visitor(who), place.Peer{Name: in.Name, URL: in.URL, Key: in.Key})
	return rest.Peer(p), err
}

func (r placeRoutes) removePeer(ctx context.Context, who identity.Actor, in *rest.PeerName) (rest.None, error) {
	return rest.None{}, r.place.RemovePeer(ctx, visitor(who), in.Name)
}
