package kibitz

import "time"

// Invite is a pass to one room. With JKT it is for the agent of that key,
// without for whoever carries it.
type Invite struct {
	Name string `json:"name"`
	Room string `json:"room"`
	Exp  int64  `json:"exp"`
	JKT  string `json:"jkt,omitzero"`
	Caps *Grant `json:"caps,omitzero"`
	// Sub is the person of the hub whom it stands for, if it is a pass of theirs.
	Sub string `json:"sub,omitzero"`
}

// VerifyInvite reads an invite of the room's key. The error is a [*Refusal].
func VerifyInvite(token, room string, key *PublicKey, now time.Time) (*Invite, error) {
	o, ok := openToken(key, token)
	name, _ := o.text("name")
	switch {
	case !ok:
		return nil, gateRefusal(reasonBadSignature)
	case !o.is("room", room):
		return nil, gateRefusal(reasonWrongRoom)
	case o.past(now):
		return nil, gateRefusal(reasonExpired)
	case name == "":
		return nil, gateRefusal(reasonNoName)
	}
	exp, _ := o.number("exp")
	in := &Invite{Name: name, Room: room, Exp: int64(min(exp, MaxN))}
	if o.has("caps") {
		caps := Sanitise(o["caps"])
		in.Caps = &caps
	}
	in.Sub, _ = o.text("sub")
	if !o.has("jkt") {
		return in, nil
	}
	// A binding we cannot read must not turn the invite into a bearer pass.
	if in.JKT, ok = o.text("jkt"); !ok || in.JKT == "" {
		return nil, gateRefusal(reasonBadSignature)
	}
	return in, nil
}
