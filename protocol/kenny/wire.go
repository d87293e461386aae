package kenny

import "github.com/go-json-experiment/json/jsontext"

// Type names a frame on the wire.
type Type string

// The frame types of the protocol.
const (
	TypeRegister  Type = "register"
	TypeChallenge Type = "challenge"
	TypeAuth      Type = "auth"
	TypeRequest   Type = "request"
	TypeResponse  Type = "response"
	TypePolicy    Type = "policy"
	TypeTelemetry Type = "telemetry"
	TypeLog       Type = "log"
	TypePing      Type = "ping"
	TypePong      Type = "pong"
)

// Frame is one message of the protocol: a pointer to one of the structs below.
type Frame interface {
	// Type is the value of the frame's "type" key.
	Type() Type
	// check refuses values the protocol does not allow.
	check() error
	// wire is the value that marshals to the frame's JSON object.
	wire() any
}

// Register is the endpoint's first message.
type Register struct {
	AgentID string
	// Protocol and ClientNonce select the signature handshake; absent in the
	// legacy form.
	Protocol    string
	ClientNonce []byte
	// Token is the legacy bearer secret; absent in the signature form.
	Token string
	Meta  Meta
}

// Signed reports whether the frame asks for the signature handshake; anything
// else is the legacy path.
func (r *Register) Signed() bool {
	return r.ClientNonce != nil && compareProtocols(r.Protocol, Version) >= 0
}

// Meta describes the machine. It is an open object: Extra keeps what is not
// known here.
type Meta struct {
	Hostname string
	OS       OS
	Version  string
	// Arch is our addition; absent when empty.
	Arch  string
	Extra map[string]jsontext.Value
}

// Challenge is the hub's answer to a register: it proves the hub first.
type Challenge struct {
	ServerNonce []byte
	ServerSig   []byte
}

// Auth is the endpoint's proof, sent only after the hub's was verified.
type Auth struct {
	AgentSig []byte
}

// Request asks the machine to run one tool.
type Request struct {
	ID   string
	Tool string
	// Args is an open JSON object; "{}" when the tool takes none.
	Args jsontext.Value
}

// Response answers the request with the same id: a result or an error.
type Response struct {
	ID     string
	OK     bool
	Result jsontext.Value // open JSON object; nil when absent
	Error  *Error         // nil when absent
}

// Outcome is the response with the protocol's defaults applied: a success
// without result is the empty object, a failure without error is internal, and
// a code outside the allowed alphabet is internal too.
func (r *Response) Outcome() (jsontext.Value, *Error) {
	switch {
	case r.OK && r.Result == nil:
		return jsontext.Value("{}"), nil
	case r.OK:
		return r.Result, nil
	case r.Error == nil:
		return nil, &Error{Code: CodeInternal, Message: "the machine reported a failure without a reason"}
	default:
		return nil, &Error{Code: r.Error.Code.Passable(), Message: r.Error.Message}
	}
}

// Policy carries the operator's own deny rules; an empty list clears them.
type Policy struct {
	Rules []Rule
}

// Rule is one deny rule as it travels.
type Rule struct {
	ID        string    `json:"id"`
	AppliesTo AppliesTo `json:"applies_to"`
	Pattern   string    `json:"pattern"`
	Reason    string    `json:"reason"`
}

// AppliesTo says which text of a call a rule is matched against.
type AppliesTo string

// The kinds of rule that travel.
const (
	AppliesPowerShell     AppliesTo = "powershell"
	AppliesSelfProtection AppliesTo = "self_protection"
	AppliesPath           AppliesTo = "path"
)

// Telemetry is a pushed snapshot. Every section is an open object with a
// valid status and a summary; see [ReadSection].
type Telemetry struct {
	AgentID     string
	CollectedAt Timestamp
	Snapshot    map[string]jsontext.Value
}

// Log is one forwarded log record.
type Log struct {
	AgentID string
	At      Timestamp
	Level   Level
	Target  string
	Message string
	Fields  jsontext.Value // open JSON object; nil when absent
}

// Level grades a log record.
type Level string

// The levels, gravest first.
const (
	LevelError Level = "error"
	LevelWarn  Level = "warn"
	LevelInfo  Level = "info"
	LevelDebug Level = "debug"
	LevelTrace Level = "trace"
)

// Ping asks for a sign of life.
type Ping struct{}

// Pong is the sign of life.
type Pong struct{}

// Type implements [Frame].
func (*Register) Type() Type { return TypeRegister }

// Type implements [Frame].
func (*Challenge) Type() Type { return TypeChallenge }

// Type implements [Frame].
func (*Auth) Type() Type { return TypeAuth }

// Type implements [Frame].
func (*Request) Type() Type { return TypeRequest }

// Type implements [Frame].
func (*Response) Type() Type { return TypeResponse }

// Type implements [Frame].
func (*Policy) Type() Type { return TypePolicy }

// Type implements [Frame].
func (*Telemetry) Type() Type { return TypeTelemetry }

// Type implements [Frame].
func (*Log) Type() Type { return TypeLog }

// Type implements [Frame].
func (*Ping) Type() Type { return TypePing }

// Type implements [Frame].
func (*Pong) Type() Type { return TypePong }
