package kibitz

import (
	"slices"
	"time"
)

const commandKind = "kbz-host-cmd.v1"

// Op is what a host can command.
type Op string

// The operations; the last four are this hub's own.
const (
	OpClaim       Op = "claim"
	OpLobbyOn     Op = "lobbyon"
	OpLobbyOff    Op = "lobbyoff"
	OpAdmit       Op = "admit"
	OpDeny        Op = "deny"
	OpLock        Op = "lock"
	OpUnlock      Op = "unlock"
	OpReset       Op = "reset"
	OpKick        Op = "kick"
	OpBan         Op = "ban"
	OpUnban       Op = "unban"
	OpPublisher   Op = "publisher"
	OpUnpublisher Op = "unpublisher"
)

// Ops lists all operations.
func Ops() []Op {
	return []Op{
		OpClaim, OpLobbyOn, OpLobbyOff, OpAdmit, OpDeny, OpLock, OpUnlock, OpReset, OpKick,
		OpBan, OpUnban, OpPublisher, OpUnpublisher,
	}
}

// Known tells whether the operation exists.
func (op Op) Known() bool { return slices.Contains(Ops(), op) }

// Command is a host's signed order.
type Command struct {
	Op     Op
	Target string
}

// SignCommand signs an order for one connection.
func SignCommand(key *PrivateKey, c Command, room, fingerprint string, now time.Time) (string, error) {
	return Sign(key, struct {
		K      string `json:"k"`
		Room   string `json:"room"`
		FP     string `json:"fp"`
		Op     Op     `json:"op"`
		Target string `json:"target,omitzero"`
		Iat    int64  `json:"iat"`
	}{commandKind, room, NormalFingerprint(fingerprint), c.Op, c.Target, now.Unix()})
}

// VerifyCommand reads an order under the policy's host key. The error is a
// [*Refusal] with host.denied.
func VerifyCommand(token, room, fingerprint string, hostKey Raw, now time.Time) (*Command, error) {
	switch {
	case token == "":
		return nil, refuse(HostDenied, "missing command")
	case len(hostKey) == 0 || hostKey.Kind() == 'n':
		return nil, refuse(HostDenied, "no host key")
	}
	key, err := ParsePublicKey(hostKey)
	if err != nil {
		return nil, refuse(HostDenied, "bad host key")
	}
	o, ok := openToken(key, token)
	if !ok {
		return nil, refuse(HostDenied, reasonBadSignature)
	}
	if reason := judgeCommand(o, room, fingerprint, now); reason != "" {
		return nil, refuse(HostDenied, reason)
	}
	op, _ := o.text("op")
	target, _ := o.text("target")
	return &Command{Op: Op(op), Target: target}, nil
}

func judgeCommand(o object, room, fingerprint string, now time.Time) string {
	op, _ := o.text("op")
	age, dated := o.age(now)
	switch {
	case !o.is("k", commandKind):
		return "wrong command kind"
	case !o.is("room", room):
		return reasonWrongRoom
	case !o.boundTo(fingerprint):
		return reasonNotBound
	case !Op(op).Known():
		return "unknown op"
	case !dated:
		return reasonNoIat
	case -age > ClockSkew:
		return "command from the future"
	case age > MaxCommandAge:
		return "stale command"
	}
	return ""
}
