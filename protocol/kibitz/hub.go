package kibitz

// Frames the hub sends.

// Hello is the first frame. Nonce is what proofs on this connection bind to.
type Hello struct {
	V       int    `json:"v"`
	Room    string `json:"room"`
	CID     string `json:"cid"`
	Nonce   string `json:"nonce"`
	Title   string `json:"title"`
	Notice  string `json:"notice,omitzero"`
	Humans  string `json:"humans"`
	Agents  string `json:"agents"`
	Credits bool   `json:"credits"`
	Sealed  Sealed `json:"sealed"`
	Locked  bool   `json:"locked"`
	Lobby   bool   `json:"lobby"`
	// Mesh is what goes peer to peer; the roster repeats it when it changes.
	Mesh *MeshPolicy `json:"mesh,omitzero"`
	// ICE is how links find a way through NAT. Nobody is in yet, so nothing here has a
	// credential; those come with Self.
	ICE []ICEServer `json:"ice,omitzero"`
	// SignIn is where people get the ID token that the room asks for.
	SignIn *SignIn `json:"signIn,omitzero"`
	Limits Limits  `json:"limits"`
}

// SignIn is an identity provider, as a page sends people to it (response_type=id_token).
type SignIn struct {
	AuthURI  string `json:"authUri"`
	ClientID string `json:"clientId"`
}

// ICEServer is a STUN or TURN server, as browsers take it.
type ICEServer struct {
	URLs       []string `json:"urls"`
	Username   string   `json:"username,omitzero"`
	Credential string   `json:"credential,omitzero"`
}

// ICE replaces the servers that Self had: its credentials end.
type ICE struct {
	ICE []ICEServer `json:"ice"`
}

// Sealed is whether what is said in a room is closed to the hub. On the wire it is false,
// true, or a word.
type Sealed string

// How a room is sealed.
const (
	SealedNot  Sealed = ""
	SealedFast Sealed = "sealed"
	// SealedShared: an agent of the hub was given the key, so that the hub can read.
	SealedShared Sealed = "shared-with-hub"
)

// On tells whether content is in boxes.
func (s Sealed) On() bool { return s != SealedNot }

// MarshalJSON writes a boolean where one is enough, as it always was.
func (s Sealed) MarshalJSON() ([]byte, error) {
	switch s {
	case SealedNot:
		return []byte("false"), nil
	case SealedFast:
		return []byte("true"), nil
	}
	return []byte(`"` + SealedShared + `"`), nil
}

// UnmarshalJSON reads either; a word of a later time means sealed.
func (s *Sealed) UnmarshalJSON(data []byte) error {
	switch v := Raw(data); {
	case string(v) == `"`+string(SealedShared)+`"`:
		*s = SealedShared
	case truthy(v):
		*s = SealedFast
	default:
		*s = SealedNot
	}
	return nil
}

// Limits tells programs what they may send; sizes in bytes, chat in characters.
type Limits struct {
	Frame int `json:"frame"`
	App   int `json:"app"`
	Chat  int `json:"chat"`
	Meta  int `json:"meta"`
	Sig   int `json:"sig"`
}

// WireLimits are the limits of this protocol.
func WireLimits() Limits {
	return Limits{Frame: MaxFrame, App: MaxApp, Chat: MaxChat, Meta: MaxMeta, Sig: MaxSignal}
}

// LobbyStatus is the state of somebody at the door.
type LobbyStatus string

// The door's states.
const (
	LobbyWaiting    LobbyStatus = "waiting"
	LobbyAdmitted   LobbyStatus = "admitted"
	LobbyDenied     LobbyStatus = "denied"
	LobbyLocked     LobbyStatus = "locked"
	LobbyUnverified LobbyStatus = "unverified"
)

// Lobby tells the state at the door; Code except when waiting or admitted.
type Lobby struct {
	Status LobbyStatus `json:"status"`
	Code   Code        `json:"code,omitzero"`
	Reason string      `json:"reason,omitzero"`
}

// Kind is what a participant is.
type Kind string

// Kinds of participants.
const (
	Human Kind = "human"
	Agent Kind = "agent"
)

// Tier is a host's rank.
type Tier string

// Ranks, highest first.
const (
	TierOperator Tier = "operator"
	TierKey      Tier = "key"
	TierEmail    Tier = "email"
	TierName     Tier = "name"
)

// Full tells whether the rank may do everything.
func (t Tier) Full() bool { return t == TierOperator || t == TierKey || t == TierEmail }

// Self tells a participant that it is in. Resume is a secret, new each time.
type Self struct {
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Host   bool   `json:"host"`
	Tier   Tier   `json:"tier,omitzero"`
	KeyID  string `json:"keyId,omitzero"`
	Grant  Grant  `json:"grant"`
	Resume string `json:"resume"`
	Seq    uint64 `json:"seq"`
	// ICE are the servers of Hello and those that need a credential, with one that ends soon.
	ICE []ICEServer `json:"ice,omitzero"`
}

// Roster is who is here. Redacted, it has neither Host nor Hosts nor Waiting;
// else Host points to an empty string when there is none.
type Roster struct {
	Members  []Member  `json:"members"`
	Host     *string   `json:"host,omitzero"`
	Hosts    []string  `json:"hosts,omitzero"`
	Locked   bool      `json:"locked"`
	Lobby    bool      `json:"lobby"`
	Waiting  []Waiting `json:"waiting,omitzero"`
	Redacted bool      `json:"redacted,omitzero"`
	// Mesh is what goes peer to peer now.
	Mesh *MeshPolicy `json:"mesh,omitzero"`
	// Sealed is only said once the hub can read a sealed room.
	Sealed Sealed `json:"sealed,omitzero"`
}

// Member is one participant in the roster.
type Member struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Kind     Kind   `json:"kind"`
	Cam      bool   `json:"cam"`
	Avatar   string `json:"avatar,omitzero"`
	Meta     Raw    `json:"meta,omitzero"`
	Host     bool   `json:"host,omitzero"`
	Tier     Tier   `json:"tier,omitzero"`
	KeyID    string `json:"keyId,omitzero"`
	Label    string `json:"label,omitzero"`
	Key      Raw    `json:"key,omitzero"`
	FP       string `json:"fp,omitzero"`
	Backend  string `json:"backend,omitzero"`
	Egress   bool   `json:"egress,omitzero"`
	ReadOnly bool   `json:"readOnly,omitzero"`
	Media    Lanes  `json:"media"`
	Away     bool   `json:"away,omitzero"`
	// Publisher tells peers whose views count where content goes peer to peer.
	Publisher bool `json:"publisher,omitzero"`
	Proven    bool `json:"proven"`
}

// Waiting is somebody in the lobby, as hosts see it.
type Waiting struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// Caps is the whole map of effective grants; it replaces the former one.
type Caps struct {
	Rev    uint64           `json:"rev"`
	Grants map[string]Grant `json:"grants"`
}

// From is content. TS is in milliseconds.
type From struct {
	Seq      uint64 `json:"seq"`
	TS       int64  `json:"ts"`
	From     string `json:"from"`
	To       string `json:"to,omitzero"`
	C        Raw    `json:"c"`
	Retained bool   `json:"retained,omitzero"`
}

// Live ends the catch-up.
type Live struct {
	Seq uint64 `json:"seq"`
}

// Gap tells which sequence numbers a replay lacks, both included.
type Gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Ack accepts. The counts are for hosts: they would tell others' grants.
type Ack struct {
	N        int64  `json:"n"`
	Seq      uint64 `json:"seq,omitzero"`
	Dup      bool   `json:"dup,omitzero"`
	To       *int   `json:"to,omitzero"`
	Withheld *int   `json:"withheld,omitzero"`
}

// Nak refuses.
type Nak struct {
	N       int64  `json:"n,omitzero"`
	Code    Code   `json:"code"`
	Reason  string `json:"reason"`
	RetryMs int64  `json:"retryMs,omitzero"`
}

// Challenge asks to prove the key again, bound to this nonce.
type Challenge struct {
	Nonce string `json:"nonce"`
}

// Republish asks publishers for their schemas and last views.
type Republish struct{}

// Audit shows one entry of the trail.
type Audit struct {
	E Raw `json:"e"`
}

// Reset clears the chat on screen.
type Reset struct {
	By string `json:"by"`
}

// Kick ends a presence; the connection closes right after.
type Kick struct {
	Code   Code   `json:"code"`
	Reason string `json:"reason"`
}
