package kibitz

// Frames a client sends. N, where a frame has it, asks for one answer.

// Announce is what somebody says of itself at the door. Pointers tell what
// was said from what was not, because a later announce changes only what it
// names.
type Announce struct {
	N      int64   `json:"n,omitzero"`
	Name   *string `json:"name,omitzero"`
	Cam    *bool   `json:"cam,omitzero"`
	Avatar *string `json:"avatar,omitzero"`
	Meta   Raw     `json:"meta,omitzero"`
	Want   Raw     `json:"want,omitzero"`

	JWT            string   `json:"jwt,omitzero"`
	AgentAssertion string   `json:"agentAssertion,omitzero"`
	AgentKey       Raw      `json:"agentKey,omitzero"`
	AgentToken     string   `json:"agentToken,omitzero"`
	AgentChain     []string `json:"agentChain,omitzero"`
	AgentCredit    string   `json:"agentCredit,omitzero"`

	// FP is the participant's WebRTC certificate.
	FP string `json:"fp,omitzero"`
	// Token is an anonymous client's stable secret; it only helps to
	// recognise a banned guest.
	Token string `json:"token,omitzero"`
}

// Voice announces (on) or withdraws (off).
type Voice struct {
	On *bool `json:"on,omitzero"`
	Announce
}

// Withdraws tells whether the sender leaves the roster; its connection stays.
func (v *Voice) Withdraws() bool { return v.On != nil && !*v.On }

// Knock asks to enter without announcing.
type Knock struct{ Announce }

// Resume takes up an earlier presence.
type Resume struct {
	N              int64  `json:"n,omitzero"`
	Resume         string `json:"resume"`
	Since          uint64 `json:"since"`
	AgentAssertion string `json:"agentAssertion,omitzero"`
	AgentCredit    string `json:"agentCredit,omitzero"`
}

// Send carries content; see [OpenContent]. Empty To is everybody.
type Send struct {
	N  int64  `json:"n,omitzero"`
	To string `json:"to,omitzero"`
	ID string `json:"id,omitzero"`
	C  Raw    `json:"c"`
}

// SetGrant is a host's change of a grant; a JSON null clears the override.
type SetGrant struct {
	N     int64  `json:"n,omitzero"`
	ID    string `json:"id"`
	Grant Raw    `json:"grant"`
}

// Clears tells whether the override is removed.
func (f *SetGrant) Clears() bool { return f.Grant.Kind() == 'n' }

// Mod is a host command, signed or by the rank of the connection.
type Mod struct {
	N      int64  `json:"n,omitzero"`
	Token  string `json:"token,omitzero"`
	Op     Op     `json:"op,omitzero"`
	Target string `json:"target,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// Sig carries WebRTC signalling: To from a client, From from the hub.
type Sig struct {
	N    int64  `json:"n,omitzero"`
	To   string `json:"to,omitzero"`
	From string `json:"from,omitzero"`
	D    Raw    `json:"d"`
}

// Media says which lanes a participant publishes.
type Media struct {
	N int64 `json:"n,omitzero"`
	Lanes
}

// Lanes are the three media lanes.
type Lanes struct {
	Audio  bool `json:"audio"`
	Camera bool `json:"camera"`
	Screen bool `json:"screen"`
}

// Any tells whether a lane is on.
func (l Lanes) Any() bool { return l.Audio || l.Camera || l.Screen }

// Blocked reports what somebody sent over a link without the right to: where
// content goes peer to peer, only its receiver sees it. C is the word of the
// audit trail for the content, as [Content.Detail] gives it.
type Blocked struct {
	N  int64  `json:"n,omitzero"`
	ID string `json:"id"`
	C  string `json:"c"`
}

// Right is the capability that the content needs; none for a word that is no
// content.
func (f *Blocked) Right() Capability {
	switch f.C {
	case string(EnvelopeAct):
		return Act
	case string(ContentChat), string(ContentApp), string(ContentPay), string(ContentInk), string(ContentSchema), string(EnvelopeView):
		return SendChat
	}
	return ""
}

// Sync asks for roster and caps again.
type Sync struct {
	N int64 `json:"n,omitzero"`
}

// Leave is a clean exit.
type Leave struct {
	N int64 `json:"n,omitzero"`
}

// Ping asks for a pong; both sides may.
type Ping struct {
	N int64 `json:"n,omitzero"`
}

// Pong answers a ping.
type Pong struct {
	N int64 `json:"n,omitzero"`
}

// CheckProofs refuses proofs that are too large before anything is computed
// over them.
func (a *Announce) CheckProofs() error {
	over := len(a.AgentAssertion) > MaxAssertion || len(a.JWT) > MaxProof ||
		len(a.AgentToken) > MaxProof || len(a.AgentKey) > MaxProof
	for _, c := range a.AgentChain {
		over = over || len(c) > MaxProof
	}
	switch {
	case over:
		return refuse(GateTooLarge, "proof too large")
	case len(a.AgentChain) > MaxChain:
		return refuse(GateTooLarge, "too many certificates")
	case len(a.AgentCredit) > MaxProof:
		return refuse(CreditTooLarge, "credit too large")
	}
	return nil
}

// CheckFields refuses what would weigh down the roster.
func (a *Announce) CheckFields() error {
	switch {
	case a.Avatar != nil && len(*a.Avatar) > MaxAvatar:
		return refuse(LimitSize, "avatar too large")
	case len(a.Meta) > MaxMeta:
		return refuse(LimitSize, "meta too large")
	case len(a.Token) > MaxGuest:
		return refuse(LimitSize, "token too large")
	}
	return nil
}
