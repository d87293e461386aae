package identity

import "time"

// Actor is whoever acts on this hub: a person, or something that acts for one.
// Every request, run and schedule is some actor's, and whatever it may do follows
// from the actor alone. It is a value, also between hubs.
//
// Only this package makes one: from a credential that was verified, or from
// another actor by what can only take away (Narrow, Joined, ForAgent).
// docs/decisions/025-one-actor-one-judge.md says why it is so.
type Actor struct {
	// Person is the human behind it, whose things it reaches. The hub itself is one
	// of KindHub; a stranger has none.
	Person Principal `json:"person,omitzero"`
	// Owner is set for the person who owns the hub.
	Owner bool `json:"owner,omitzero"`
	// Role is what the credential may be used as.
	Role Role `json:"role,omitzero"`
	// Via is how it got here.
	Via `json:"via,omitzero"`
	// Scopes is what it may do, written out, with what confines it: machines and
	// tags (machine:, tag:) and senders (talk:sender:).
	Scopes Scopes `json:"scopes,omitzero"`
	// Expires is when the credential ends; zero means never.
	Expires time.Time `json:"expires_at,omitzero"`
}

// Via is how an actor got here: shown to whoever decides, and in the trail. Any
// of it may be empty.
type Via struct {
	// Credential is the sort of credential; none was needed on the local socket.
	Credential TokenKind `json:"credential,omitzero"`
	// TokenID, PageID and Device name the credential.
	TokenID string `json:"token,omitzero"`
	PageID  string `json:"page,omitzero"`
	Device  string `json:"device,omitzero"`
	// Name is what people know the credential by: the name of a token or device, the
	// browser of a page. It may be words of others.
	Name string `json:"name,omitzero"`
	// Maker is what logged the page in that made something lasting: "token:ID" or
	// "passkey:ID". It stands for the page, which ends sooner.
	Maker string `json:"maker,omitzero"`
	// InPerson says that a human sits there: a page whose line of makers holds no
	// program's token.
	InPerson bool `json:"in_person,omitzero"`
	// Agent is the hosted agent that acts for the person.
	Agent string `json:"agent,omitzero"`
	// Where it acts, and the task, conversation or room that is.
	Where Where  `json:"where,omitzero"`
	Run   string `json:"run,omitzero"`
	// Client is what an MCP client calls itself: words of others.
	Client string `json:"client,omitzero"`
	// Connection tells the connections of one credential apart.
	Connection string `json:"connection,omitzero"`
	// Address is where the caller is.
	Address string `json:"address,omitzero"`
}

// Trace is how the trail says by which credential somebody came: what of it is known.
func (v Via) Trace() map[string]any {
	trace := map[string]any{}
	for name, value := range map[string]string{
		"token": v.TokenID, "page": v.PageID, "device": v.Device, "maker": v.Maker, "client": v.Client, "address": v.Address,
	} {
		if value != "" {
			trace[name] = value
		}
	}
	return trace
}

// Where is the door that somebody came in by, or what an agent acts in.
type Where string

// The places to act.
const (
	AtPage         Where = "page"
	AtAPI          Where = "api" // REST, the board's protocol, the command line: programs with a token
	AtMCP          Where = "mcp"
	AtHub          Where = "hub" // the hub itself, carrying out what somebody started
	InConversation Where = "conversation"
	InTask         Where = "task"
	InRoom         Where = "room"
	BySchedule     Where = "schedule"
)

// Hub is the hub acting by itself. It may do everything.
func Hub() Actor {
	return Actor{Person: Principal{Kind: KindHub, ID: "hub", Name: "hub"}, Role: RoleOperator, Via: Via{Where: AtHub}, Scopes: Expand(Admin)}
}

// Local is somebody who proved to be the hub's owner by other means than a
// secret: the Unix socket's peer, or whoever can open the data folder.
func Local(owner Person) Actor {
	return Actor{Person: owner.Principal(), Owner: true, Role: RoleOperator, Via: Via{Where: AtAPI}, Scopes: Expand(Admin)}
}

// Stranger is somebody without a person. What strangers may do is up to whoever
// lets them in.
func Stranger(address string) Actor { return Actor{Via: Via{Address: address}} }

// String is how the trail names whoever acts: the agent, or the person.
func (a Actor) String() string {
	if a.Agent != "" {
		return Principal{Kind: KindAgent, ID: a.Agent}.String()
	}
	return a.Person.String()
}

// OnBehalf is how the trail names whom an agent acts for; nobody, where a person acts.
func (a Actor) OnBehalf() string {
	if a.Agent == "" || a.Person == (Principal{}) {
		return ""
	}
	return a.Person.String()
}

// Admin reports whether the actor may reach other people's things.
func (a Actor) Admin() bool { return a.Scopes.Has(Admin) }

// Human reports whether a person acts, with a credential of theirs: no agent.
func (a Actor) Human() bool { return a.Person.Kind == KindPerson && a.Agent == "" }

// Owns reports whether a thing of a person is this actor's business.
func (a Actor) Owns(person string) bool {
	return a.Admin() || (person != "" && a.Person.ID == person)
}
