package room

import (
	"encoding/json"
	"errors"
	"time"

	"parley.internal/internal/audit"
	"parley.internal/internal/identity"
	"parley.internal/internal/store"
	"parley.internal/protocol/kibitz"
)

// call is something asked of a room through the API. It travels as JSON to the
// hub that has the room.
type call struct {
	Op      string            `json:"op"`
	By      identity.Actor    `json:"by"`
	Doc     json.RawMessage   `json:"doc,omitempty"`
	Token   string            `json:"token,omitempty"`
	Key     kibitz.Raw        `json:"key,omitempty"`
	Seen    int64             `json:"seen,omitempty"`
	ID      string            `json:"id,omitempty"`
	Grant   *kibitz.Grant     `json:"grant,omitempty"`
	Allowed kibitz.AllowedKey `json:"allowed,omitzero"`
	Command HostCommand       `json:"command,omitzero"`
	Invite  InviteRequest     `json:"invite,omitzero"`
	For     time.Duration     `json:"for,omitzero"`
	May     kibitz.Capability `json:"may,omitzero"`
}

// do answers a call on the room's goroutine.
func (r *room) do(c *call) (any, error) {
	if err := r.permit(c); err != nil {
		return nil, err
	}
	who := r.byWho(c.By)
	switch c.Op {
	case "info":
		return r.info(), nil
	case "policy":
		return r.policyState(), nil
	case "set-policy", "manifest", "allow", "revoke":
		return r.changePolicy(who, c)
	case "roster":
		return r.rosterState(), nil
	case "grant":
		return r.setGrant(who, c.ID, c.Grant)
	case "command":
		return struct{}{}, r.command(who, c.Command)
	case "invite":
		return r.makeInvite(who, c.Invite)
	case "pass":
		return r.makePass(c.By, c.ID)
	case "invites":
		return r.inviteList(), nil
	case "withdraw":
		return struct{}{}, r.withdrawInvite(who, c.ID)
	case "audit":
		return struct{}{}, nil // whoever may ask reads the trail itself
	case "bans":
		return r.banList(), nil
	case "close":
		return struct{}{}, r.closeRoom(who)
	case opGive:
		return struct{}{}, r.giveTo(c.By, c.ID)
	case opHost:
		return r.appointHost(c.By, c.ID, c.For)
	case opUnhost:
		return struct{}{}, r.dismissHost(c.By, c.ID)
	case opHosts:
		return r.hostList(), nil
	case opPresent:
		return struct{}{}, r.present(c.By, c.May)
	}
	return nil, errors.New("no such call")
}

func (r *room) changePolicy(who by, c *call) (any, error) {
	if err := r.ifVersion(c.Seen); err != nil {
		return nil, err
	}
	var warnings []string
	var err error
	switch c.Op {
	case "set-policy":
		var p *kibitz.Policy
		if p, err = kibitz.ReadPolicy(kibitz.Raw(c.Doc)); err == nil {
			err = r.setPolicy(who, p, nil, "changed")
		}
	case "manifest":
		if warnings, err = r.manifest(who, c.Token, c.Key); err != nil {
			no := refusalOf(err)
			r.note(note{kind: audit.RoomRefused, actor: who.actor, detail: no.Reason, code: no.Code})
		}
	case "allow":
		err = r.allow(who, c.Allowed)
	case "revoke":
		err = r.revoke(who, c.ID)
	}
	if err != nil {
		return nil, err
	}
	return r.policyState(warnings...), nil
}

// allow adds a key to the policy, or changes its entry.
func (r *room) allow(who by, k kibitz.AllowedKey) error {
	key, err := kibitz.ParsePublicKey(k.Key)
	if err != nil {
		return deny(kibitz.PolicyBad, "the key cannot be imported")
	}
	next := *r.policy
	next.Agents.Keys = withoutKey(next.Agents.Keys, key.Thumbprint())
	next.Agents.Keys = append(next.Agents.Keys, k)
	return r.setPolicy(who, &next, nil, "allowed "+key.Thumbprint())
}

func (r *room) revoke(who by, thumbprint string) error {
	if _, ok := r.policy.FindKey(thumbprint); !ok {
		return deny(kibitz.ToUnknown, "no such key in the policy")
	}
	next := *r.policy
	next.Agents.Keys = withoutKey(next.Agents.Keys, thumbprint)
	return r.setPolicy(who, &next, nil, "revoked "+thumbprint)
}

func withoutKey(list []kibitz.AllowedKey, thumb string) []kibitz.AllowedKey {
	out := []kibitz.AllowedKey{}
	for _, k := range list {
		if thumbprint(k.Key) != thumb {
			out = append(out, k)
		}
	}
	return out
}

func (r *room) info() Info {
	i := Info{Room: r.id, Title: r.title, Owner: r.owner, Key: jsonOf(r.key.Public()), Version: r.version, Members: len(r.order), Locked: r.locked}
	i.Agents = r.agents()
	return i
}

func (r *room) rosterState() RosterState {
	now := time.Now()
	s := RosterState{Members: r.members(now), Waiting: r.waitingList(), Locked: r.locked, Lobby: r.lobby, Grants: r.grants(now), Rev: r.rev, Seq: r.seq}
	if hosts := r.hosts(); len(hosts) > 0 {
		s.Host = hosts[0].ID
	}
	return s
}

// closeRoom ends the room for good.
func (r *room) closeRoom(who by) error {
	err := r.write(func(tx *store.Tx) error { return deleteRoom(tx, r.id) }, r.entry(audit.RoomClosed, who.actor, nil, ""))
	if err != nil {
		return err
	}
	r.ending = endClosed
	return nil
}

// jsonOf writes one of our own values.
func jsonOf(v any) kibitz.Raw {
	b, err := json.Marshal(v)
	if err != nil {
		return kibitz.Raw("null")
	}
	return b
}
