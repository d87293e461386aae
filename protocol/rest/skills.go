package rest

import (
	"encoding/json"
	"time"

	"parley.internal/protocol/mmp/meeting"
)

// What agents exchange with others: skills, exchanges, extensions, threads, visits.
// Nothing here approves: that is the inbox's.
var (
	ListReceivedSkills = Get[ReceivedSkillQuery, ReceivedSkills]("/api/skills/received", "Skills received from other agents, and our public ones")
	ReviewSkill        = Get[ByID, SkillReview]("/api/skills/received/{id}", "One received skill: provenance, findings, preview as text, diff against the version in use")
	AskAboutSkill      = Post[ByID, ReceivedSkill]("/api/skills/received/{id}/ask", "Put a skill that waits before its person, if nobody was asked yet: a stranger's asks nobody by itself")
	RevokeSkill        = Post[WithReason, ReceivedSkill]("/api/skills/received/{id}/revoke", "Take an approved skill out of use")
	PublishSkill       = Post[Publication, ReceivedSkill]("/api/skills/received/{id}/public", "Let an approved skill be handed on, or keep it here")
	ListExchanges      = Get[SkillLimit, Exchanges]("/api/skills/exchanges", "Exchanges, newest first")
	OfferSkill         = Post[SkillOffer, Exchange]("/api/skills/offer", "Offer a public skill to an agent")
	RequestSkill       = Post[SkillRequest, Exchange]("/api/skills/request", "Ask an agent for a skill")
	IntroduceAgent     = Post[ToPeer, None]("/api/skills/introduce", "Introduce an agent of this hub to another")
	SendNote           = Post[Note, None]("/api/skills/note", "Send a plain text to another agent, sealed")
	AcceptExchange     = Post[ByID, Exchange]("/api/skills/exchanges/{id}/accept", "Accept an offer; what comes waits for approval")
	DeclineExchange    = Post[WithReason, Exchange]("/api/skills/exchanges/{id}/decline", "Decline an offer")
	ListExtensions     = Get[None, Extensions]("/api/skills/extensions", "Extensions: proposed, adopted, promoted, switched off")
	SwitchExtension    = Post[ExtensionSwitch, Extension]("/api/skills/extensions/{hash}", "Switch a promoted extension off or on again")
	ProposeExtension   = Post[ExtensionProposal, None]("/api/skills/extensions", "Propose an extension of this hub to an agent")
	ListThreads        = Get[SkillLimit, Threads]("/api/skills/threads", "Discussions and negotiations")
	SayInThread        = Post[ThreadMove, Thread]("/api/skills/threads", "Make a move in a discussion or negotiation, or open one; agreeing asks the inbox")
	ListVisits         = Get[None, Visits]("/api/place/visits", "Agents of this hub at other places")
	StartVisit         = Post[VisitRequest, Visit]("/api/place/visits", "Send an agent to another place for a while")
	MeetAgent          = Post[VisitRequest, Meeting]("/api/place/meet", "Open a conversation with an agent at its own address; it is kept among the visits")
	ListDeposits       = Get[DepositQuery, Deposits]("/api/place/deposits", "Skills on the shelf of a place: anybody's words, until somebody has looked")
	ShowDeposit        = Get[DepositRef, Deposit]("/api/place/deposits/{owner}/{skill}", "One of them with its first lines and what others say of it")
	AcquireSkill       = Post[Acquisition, ReceivedSkill]("/api/skills/acquire", "Take a skill from a shelf into quarantine; its person is asked")
	AttestSkill        = Post[Attestation, None]("/api/skills/attest", "Say something about a skill on a shelf, signed by an agent of this hub")
	EndVisit           = Delete[ByID, None]("/api/place/visits/{id}", "Bring an agent home")
)

// Hop is one agent on the way of a skill.
type Hop struct {
	Agent    string `json:"agent"`
	Verified bool   `json:"verified" doc:"a key we hold signed for this content and the way to here"`
}

// Finding is something to look at before deciding.
type Finding struct {
	Rule     string `json:"rule"`
	Family   string `json:"family"`
	Severity string `json:"severity"`
	Line     int    `json:"line"`
	Text     string `json:"text"`
	Excerpt  string `json:"excerpt"`
	More     int    `json:"more,omitempty" doc:"how many more lines like it"`
}

// ReceivedSkill is a skill of another agent.
type ReceivedSkill struct {
	ID          string    `json:"id"`
	Agent       string    `json:"agent"`
	Name        string    `json:"name,omitempty" doc:"what it is called here, once approved"`
	Title       string    `json:"title"`
	Sender      string    `json:"sender"`
	Place       string    `json:"place,omitempty" doc:"id of the visited place it came by; empty for this hub's own"`
	Level       string    `json:"level"`
	KeyID       string    `json:"key_id,omitempty"`
	Format      string    `json:"format"`
	Hash        string    `json:"hash"`
	HashLong    string    `json:"hash_prefixed"`
	Size        int       `json:"size_bytes"`
	Origin      string    `json:"origin"`
	HopCount    int       `json:"hop_count"`
	Chain       []Hop     `json:"chain"`
	Findings    []Finding `json:"findings"`
	State       string    `json:"state"`
	Approval    string    `json:"approval_id,omitempty" doc:"the question in the inbox, while it waits"`
	Unsolicited bool      `json:"unsolicited"`
	Public      bool      `json:"public"`
	Received    time.Time `json:"received_at"`
	Decided     time.Time `json:"decided_at,omitzero"`
	DecidedBy   string    `json:"decided_by,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Agents      []string  `json:"agents" doc:"who may use it, once approved; * is every agent that lists it"`
	MayUse      []string  `json:"may_use,omitempty" doc:"the agents an approval may name, while it waits"`
}

// ReceivedSkillQuery chooses received skills.
type ReceivedSkillQuery struct {
	State string `query:"state" enum:"quarantined,approved,rejected,revoked,replaced" doc:"only in this state"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

// HostedAgent is an agent of the hub at its meeting place.
type HostedAgent struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

// ReceivedSkills is what came, and what we give.
type ReceivedSkills struct {
	Skills []ReceivedSkill     `json:"skills"`
	Public []meeting.SkillInfo `json:"public" doc:"what our front agent lists"`
	Agents []HostedAgent       `json:"agents" doc:"the agents one may speak as at the meeting place"`
}

// SkillReview is all one decides by.
type SkillReview struct {
	ReceivedSkill
	Source string `json:"source" doc:"all that is in it, as it is written, with hidden characters made visible"`
	Diff   string `json:"diff,omitempty" doc:"against the version in use"`
	InUse  string `json:"in_use,omitempty"`
}

// WithReason does something to one thing, and says why.
type WithReason struct {
	ID   string `path:"id"`
	Body Reason
}

// Reason is why.
type Reason struct {
	Reason string `json:"reason,omitempty" maxLength:"2000"`
}

// Publication lets a skill be handed on, or keeps it here.
type Publication struct {
	ID   string `path:"id"`
	Body Public
}

// Public says whether a skill may be handed on.
type Public struct {
	Public bool `json:"public"`
}

// Exchange is a skill offered or asked for.
type Exchange struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Peer      string    `json:"peer"`
	Place     string    `json:"place,omitempty" doc:"empty for this hub's own"`
	Side      string    `json:"side"`
	State     string    `json:"state"`
	SkillID   string    `json:"skill_id"`
	SkillName string    `json:"skill_name"`
	Hash      string    `json:"hash,omitempty"`
	Skill     string    `json:"skill,omitempty" doc:"the received skill"`
	Reason    string    `json:"reason,omitempty"`
	Created   time.Time `json:"created_at"`
	Changed   time.Time `json:"changed_at"`
	Deadline  time.Time `json:"deadline,omitzero"`
}

// Exchanges is a list of them.
type Exchanges struct {
	Exchanges []Exchange `json:"exchanges"`
}

// SkillLimit is how many at most.
type SkillLimit struct {
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

// ToPeer says who speaks to whom, and where.
type ToPeer struct {
	Agent string `json:"agent,omitempty" doc:"our agent (parley)" maxLength:"64"`
	To    string `json:"to" minLength:"1" maxLength:"256"`
	Place string `json:"place,omitempty" doc:"id of the place of a visit; empty for this hub's own" maxLength:"256"`
}

// SkillOffer offers a skill.
type SkillOffer struct {
	ToPeer
	Skill string `json:"skill" minLength:"1" maxLength:"200"`
}

// SkillRequest asks for one.
type SkillRequest struct {
	ToPeer
	SkillID     string `json:"skill_id,omitempty" maxLength:"128"`
	Description string `json:"description,omitempty" maxLength:"2000"`
}

// Note is a plain text for another agent.
type Note struct {
	ToPeer
	Text string `json:"text" minLength:"1" maxLength:"16000"`
}

// Extension is one of the protocol's extensions.
type Extension struct {
	Agent    string    `json:"agent,omitempty"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Hash     string    `json:"hash"`
	State    string    `json:"state"`
	Sender   string    `json:"sender,omitempty" doc:"empty for one of this hub's files"`
	Actions  []string  `json:"actions"`
	Reason   string    `json:"reason,omitempty"`
	Changed  time.Time `json:"changed_at,omitzero"`
	Findings []Finding `json:"findings,omitempty"`
	Approval string    `json:"approval_id,omitempty" doc:"the question whether it may count, while it waits"`
	Source   string    `json:"source,omitempty" doc:"all that is in it, with hidden characters made visible"`
}

// ExtensionOff is a file that is not used, and why.
type ExtensionOff struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Extensions is a list of them.
type Extensions struct {
	Extensions []Extension    `json:"extensions"`
	Off        []ExtensionOff `json:"off" doc:"files that are not used, and why"`
}

// ExtensionSwitch switches a promoted extension off or on again.
type ExtensionSwitch struct {
	Hash string `path:"hash"`
	Body Enabled
}

// Enabled says whether something counts.
type Enabled struct {
	Enabled bool `json:"enabled"`
}

// ExtensionProposal proposes an extension to an agent.
type ExtensionProposal struct {
	ToPeer
	Name string `json:"name" minLength:"1" maxLength:"100"`
}

// Thread is a discussion or a negotiation.
type Thread struct {
	ID       string          `json:"id"`
	Agent    string          `json:"agent"`
	Kind     string          `json:"kind"`
	Peer     string          `json:"peer"`
	Place    string          `json:"place,omitempty"`
	State    string          `json:"state"`
	Approval string          `json:"approval_id,omitempty" doc:"the question whether to agree"`
	Body     json.RawMessage `json:"body"`
	Active   time.Time       `json:"active_at"`
}

// Threads is a list of them.
type Threads struct {
	Threads []Thread `json:"threads"`
}

// ThreadMove is a move in a thread, or opens one.
type ThreadMove struct {
	ToPeer
	Action  string         `json:"action" enum:"propose,support,oppose,synthesize,offer,counter,agree,withdraw"`
	Thread  string         `json:"thread,omitempty" maxLength:"128"`
	Payload map[string]any `json:"payload,omitempty"`
}

// Visit is an agent of the hub at another place.
type Visit struct {
	ID           string    `json:"id"`
	Agent        string    `json:"agent"`
	AgentID      string    `json:"agent_id"`
	URL          string    `json:"url"`
	Place        string    `json:"place"`
	Name         string    `json:"name"`
	PlaceKey     string    `json:"place_key,omitempty" doc:"the key the place had when it was first visited"`
	Keep         bool      `json:"keep"`
	Deposit      bool      `json:"deposit" doc:"the agent's public skills lie on the place's shelf"`
	Started      time.Time `json:"started_at"`
	Until        time.Time `json:"until"`
	Interactions int       `json:"interactions" doc:"messages in and out so far"`
	Limit        int       `json:"limit" doc:"at so many the visit ends"`
	Warning      string    `json:"warning,omitempty" doc:"why the end is near"`
	Problem      string    `json:"problem,omitempty" doc:"why nothing is sent any more"`
	Peer         string    `json:"peer,omitempty" doc:"the agent that is met at the address; empty for a visit to a place"`
}

// Meeting is a conversation with an agent at its own address, and what that agent says
// of itself: words of a stranger.
type Meeting struct {
	Visit
	Proven     bool                `json:"proven" doc:"it showed that it holds its key"`
	Actions    []string            `json:"actions"`
	Extensions []string            `json:"extensions"`
	Skills     []meeting.SkillInfo `json:"skills"`
}

// Visits is a list of them.
type Visits struct {
	Visits []Visit `json:"visits"`
}

// VisitRequest sends an agent to another place.
type VisitRequest struct {
	Agent    string `json:"agent" minLength:"1" maxLength:"64"`
	URL      string `json:"url" minLength:"1" maxLength:"2000"`
	Minutes  int    `json:"minutes,omitempty" minimum:"0" maximum:"1440" doc:"how long (60)"`
	Keep     bool   `json:"keep,omitempty" doc:"stay registered there at the end"`
	Deposit  bool   `json:"deposit,omitempty" doc:"leave the agent's public skills on the place's shelf, fresh, until it comes home"`
	Insecure bool   `json:"insecure,omitempty" doc:"allow plain http to another machine"`
}

// DepositQuery looks at the shelf of a place, as an agent of this hub that is there.
type DepositQuery struct {
	Agent  string `query:"agent" maxLength:"64" doc:"the agent of this hub that looks (the front agent)"`
	Place  string `query:"place" maxLength:"128" doc:"empty for this hub's own"`
	Search string `query:"search" maxLength:"200"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

// DepositRef names a skill on a shelf.
type DepositRef struct {
	Owner string `path:"owner"`
	Skill string `path:"skill"`
	Agent string `query:"agent" maxLength:"64"`
	Place string `query:"place" maxLength:"128"`
}

// Deposit is a skill on a shelf.
type Deposit struct {
	SkillID     string         `json:"skill_id"`
	Owner       string         `json:"owner"`
	Name        string         `json:"name"`
	Summary     string         `json:"summary"`
	Tags        []string       `json:"tags"`
	Format      string         `json:"format"`
	SizeBytes   int            `json:"size_bytes"`
	ContentHash string         `json:"content_hash"`
	Deposited   time.Time      `json:"deposited_at,omitzero"`
	Mine        bool           `json:"mine" doc:"the agent that looks has left it there"`
	Sections    []string       `json:"sections,omitempty"`
	FirstLines  string         `json:"first_lines,omitempty" doc:"as they are written, with hidden characters made visible"`
	Said        []DepositClaim `json:"said,omitempty" doc:"what other agents say of it"`
}

// DepositClaim is what one agent says of another's skill.
type DepositClaim struct {
	Agent  string `json:"agent"`
	Claim  string `json:"claim"`
	Signed bool   `json:"signed"`
}

// Deposits is a list of them.
type Deposits struct {
	Deposits []Deposit `json:"deposits"`
}

// OnShelf names a skill on a shelf, and who of this hub deals with it.
type OnShelf struct {
	Agent string `json:"agent,omitempty" maxLength:"64" doc:"of this hub (the front agent)"`
	Place string `json:"place,omitempty" maxLength:"128" doc:"empty for this hub's own"`
	Owner string `json:"owner" minLength:"1" maxLength:"128"`
	Skill string `json:"skill" minLength:"1" maxLength:"128"`
}

// Acquisition takes a skill from a shelf.
type Acquisition struct {
	OnShelf
}

// Attestation says something about a skill on a shelf.
type Attestation struct {
	OnShelf
	Claim string `json:"claim" minLength:"1" maxLength:"200"`
}
