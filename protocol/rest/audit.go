package rest

import "time"

// The audit trail, and what shows a cut of it.
var (
	ListAudit        = Get[AuditQuery, AuditEntries]("/api/audit", "Entries, newest first")
	AuditByHour      = Get[AuditHoursQuery, AuditHours]("/api/audit/hours", "How much happened, by hour")
	VerifyAudit      = Get[None, AuditReport]("/api/audit/verify", "Walk the whole chain, and hold it against the checkpoints kept outside the database")
	VerifyAuditGiven = Post[KeptCheckpoints, AuditReport]("/api/audit/verify", "The same, held against checkpoints the caller kept too")
	CompareAudit     = Get[None, AuditComparison]("/api/audit/compare", "Hold the trail against the last checkpoints kept outside the database, without walking it")
	ListCheckpoints  = Get[CheckpointQuery, Checkpoints]("/api/audit/checkpoints", "Signed checkpoints, to be kept elsewhere")
	AcknowledgeCut   = Post[CutAcknowledgement, AuditCuts]("/api/audit/acknowledge-cut", "Say in the trail that a cut is known, such as a restored backup")
	LeaveCheckpoints = Post[KeptCheckpoints, Witnessed]("/api/audit/witness", "Leave checkpoints of another hub here")
	WitnessedOf      = Get[WitnessedQuery, Checkpoints]("/api/audit/witnessed/{key}", "Checkpoints that another hub left here, by its public key in hex")
	ExportAudit      = Get[None, None]("/api/audit/export", "The whole trail as JSON lines that can be verified elsewhere").As("application/jsonl")
)

// AuditQuery narrows a listing; empty fields match everything.
type AuditQuery struct {
	Actor   string    `query:"actor"`
	Action  string    `query:"action" doc:"matches as a prefix"`
	Target  string    `query:"target"`
	Outcome string    `query:"outcome"`
	Since   time.Time `query:"since"`
	Until   time.Time `query:"until"`
	After   int64     `query:"after" minimum:"0" doc:"only numbers above"`
	Before  int64     `query:"before" minimum:"0" doc:"only numbers below"`
	Limit   int       `query:"limit" minimum:"0" maximum:"1000" default:"100"`
}

// AuditEntry is one entry of the trail.
type AuditEntry struct {
	Seq        int64          `json:"seq"`
	At         time.Time      `json:"at"`
	Actor      string         `json:"actor"`
	OnBehalf   string         `json:"on_behalf_of,omitempty"`
	Action     string         `json:"action"`
	Target     string         `json:"target"`
	Outcome    string         `json:"outcome"`
	DurationMS float64        `json:"duration_ms,omitempty"`
	Digest     string         `json:"digest,omitempty"`
	Detail     map[string]any `json:"detail,omitempty"`
	Hash       string         `json:"hash"`
}

// AuditEntries is a page of them.
type AuditEntries struct {
	Entries []AuditEntry `json:"entries"`
	Next    int64        `json:"next,omitempty" doc:"pass it as before to go on"`
}

// AuditHoursQuery narrows a count.
type AuditHoursQuery struct {
	Hours   int    `query:"hours" minimum:"1" maximum:"744" default:"24"`
	Actor   string `query:"actor"`
	Action  string `query:"action" doc:"matches as a prefix"`
	Target  string `query:"target"`
	Outcome string `query:"outcome"`
}

// AuditHour is how much happened in one hour.
type AuditHour struct {
	At     time.Time `json:"at"`
	Count  int64     `json:"count"`
	Failed int64     `json:"failed"`
}

// AuditHours are as many as were asked for, empty ones too: a chart needs them.
type AuditHours struct {
	Hours []AuditHour `json:"hours"`
}

// AuditReport is the result of walking the chain.
type AuditReport struct {
	OK          bool  `json:"ok"`
	Entries     int64 `json:"entries"`
	Checkpoints int64 `json:"checkpoints"`
	// Nobody can tell whether entries after LastSigned were cut off.
	LastSigned int64  `json:"last_signed" doc:"the last entry a good checkpoint covers"`
	Head       string `json:"head"`
	BadSeq     int64  `json:"bad_seq,omitempty" doc:"the first entry that is not as it was written"`
	Problem    string `json:"problem,omitempty"`
	AuditComparison
	Acknowledged bool `json:"acknowledged,omitempty" doc:"a person said of every cut that it is known"`
}

// AuditComparison is where checkpoints outside the database were found, and what they show.
type AuditComparison struct {
	Kept []AuditKept `json:"kept,omitempty"`
	Cuts []AuditCut  `json:"cuts,omitempty"`
}

// AuditKept is about checkpoints kept in one place.
type AuditKept struct {
	Where   string `json:"where"`
	Agree   int    `json:"agree" doc:"how many sign the trail as it is"`
	Last    int64  `json:"last,omitempty" doc:"the highest of them"`
	Foreign int    `json:"foreign,omitempty" doc:"not signed by this hub's key, or not rightly: they say nothing"`
}

// AuditCut says that entries are gone, or others, which a kept checkpoint signs.
type AuditCut struct {
	After        int64                 `json:"after" doc:"the last entry that is certainly as it was"`
	Exact        bool                  `json:"exact,omitempty" doc:"the cut was made right behind it"`
	UpTo         int64                 `json:"up_to"`
	Kept         string                `json:"kept"`
	Rewritten    bool                  `json:"rewritten,omitempty"`
	Acknowledged *AuditAcknowledgement `json:"acknowledged,omitempty"`
}

// AuditAcknowledgement is who knows of a cut.
type AuditAcknowledgement struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Seq    int64     `json:"seq"`
	Reason string    `json:"reason,omitempty"`
}

// AuditCuts is a list of them.
type AuditCuts struct {
	Cuts []AuditCut `json:"cuts"`
}

// Checkpoint is a hub's signature over its trail up to an entry.
type Checkpoint struct {
	At        int64  `json:"at" doc:"Unix microseconds"`
	Hash      string `json:"hash"`
	PublicKey string `json:"public_key"`
	Seq       int64  `json:"seq"`
	Signature string `json:"signature"`
}

// Checkpoints is a list of them.
type Checkpoints struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// CheckpointQuery chooses checkpoints.
type CheckpointQuery struct {
	After int64 `query:"after" minimum:"0" doc:"only those that sign more entries than this"`
	Limit int   `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
}

// WitnessedQuery chooses checkpoints that another hub left here.
type WitnessedQuery struct {
	Key string `path:"key" pattern:"^[0-9a-f]{64}$"`
	CheckpointQuery
}

// KeptCheckpoints are checkpoints that the caller kept, and where.
type KeptCheckpoints struct {
	Checkpoints []Checkpoint `json:"checkpoints,omitempty" maxItems:"20000" doc:"as /api/audit/checkpoints gives them"`
	Where       string       `json:"where,omitempty" maxLength:"200" doc:"where they were kept, for the report"`
}

// CutAcknowledgement says of a cut that it is known.
type CutAcknowledgement struct {
	KeptCheckpoints
	Reason string `json:"reason" doc:"why the trail is shorter than it was"`
}

// Witnessed tells how many checkpoints were new.
type Witnessed struct {
	Added int64 `json:"added"`
}
