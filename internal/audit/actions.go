package audit

// Action is what an entry is about: a dotted verb, most general part first.
type Action string

// Every action there is, by what it is about. docs/audit.md and the page's words
// are held against this list, so an action that is not here is nowhere.

// Questions to people.
const (
	ApprovalAsked    Action = "approval.asked"    // a question was put to a person
	ApprovalVoted    Action = "approval.voted"    // a yes was counted towards the number of people a question needs
	ApprovalResolved Action = "approval.resolved" // a question was approved, rejected, withdrawn, or ran out of time
	ApprovalRefused  Action = "approval.refused"  // somebody who may not decide tried to answer a question
	RuleMade         Action = "rule.made"         // a person made a standing rule: questions like it need not be asked
	RuleUsed         Action = "rule.used"         // a standing rule answered a question in its person's place
	RuleRevoked      Action = "rule.revoked"      // a standing rule was taken back
	ApprovalElicited Action = "approval.elicited" // a person was asked in their MCP client, and said yes, no, or nothing
)

// The trail itself.
const (
	TrailCut             Action = "audit.cut"              // the trail is shorter, or another, than a checkpoint that was kept says
	TrailCutAcknowledged Action = "audit.cut_acknowledged" // a person said that a cut of the trail is known, and why
	TrailDropped         Action = "audit.dropped"          // entries were lost because the database was away for too long
	TrailRestored        Action = "audit.restored"         // the database was made from a backup; what was written after that backup is not here
	WitnessAdded         Action = "audit.witness_added"    // checkpoints of another hub were left here for the first time
)

// Credentials and sessions.
const (
	AuthAccepted   Action = "auth.accepted"   // a client authenticated on the board's connection
	AuthExpired    Action = "auth.expired"    // a connection was closed because its session had expired
	AuthLocked     Action = "auth.locked"     // an address was locked after too many wrong credentials
	AuthRefused    Action = "auth.refused"    // a credential was not accepted
	AuthReplaced   Action = "auth.replaced"   // a connection was replaced by a newer one of the same device
	AuthRevoked    Action = "auth.revoked"    // a connection was closed because its token was revoked
	ScopeRefused   Action = "scope.refused"   // a request was refused because its credential lacks the scope
	OriginRefused  Action = "origin.refused"  // a page of another website, or a foreign host name, was refused
	OriginListed   Action = "origin.listed"   // a website may show rooms of this hub in its pages
	OriginUnlisted Action = "origin.unlisted" // a website may no longer show rooms of this hub
	BoardMisuse    Action = "board.misuse"    // a client broke the rules of the board's connection
)

// Pictures, PDFs and voice notes.
const (
	FileAdded  Action = "file.added"  // somebody put a file into the hub
	FileShared Action = "file.shared" // somebody showed a file to those in a room
	FileShown  Action = "file.shown"  // a file was shown to a model
)

// Folders that agents work in.
const (
	WorkspaceGranted Action = "workspace.granted" // a person let the agents of another use a folder of theirs
	WorkspaceRevoked Action = "workspace.revoked" // such a grant was taken back, or given up
)

// Money.
const (
	BudgetExceeded Action = "budget.exceeded" // a task's budget was used up
	BudgetExtended Action = "budget.extended" // a person extended a task's budget
	BudgetWarned   Action = "budget.warned"   // a task's budget is nearly used up
)

// People, tokens, devices, pages.
const (
	DevicePaired   Action = "device.paired"   // a device was paired
	DeviceRevoked  Action = "device.revoked"  // a device was removed
	LinkCreated    Action = "link.created"    // a login link was made
	PageClosed     Action = "page.closed"     // a logged-in page was ended
	PageOpened     Action = "page.opened"     // a browser logged in
	PasskeyAdded   Action = "passkey.added"   // a passkey was added
	PasskeyRemoved Action = "passkey.removed" // a passkey was removed
	PersonAdded    Action = "person.added"    // a person was added
	PersonRevoked  Action = "person.revoked"  // a person and all their credentials were shut out
	TokenCreated   Action = "token.created"   // a token was made
	TokenRevoked   Action = "token.revoked"   // a token was revoked
	TokenRotated   Action = "token.rotated"   // a token got a new secret
)

// Extensions of the meeting place.
const (
	ExtensionDisabled Action = "extension.disabled" // an extension was switched off
	ExtensionPromoted Action = "extension.promoted" // an extension was made active
	ExtensionRejected Action = "extension.rejected" // an extension was rejected
)

// Machines.
const (
	FleetBinaryAdded       Action = "fleet.binary.added"       // a program for machines was added
	FleetCall              Action = "fleet.call"               // how a call on a machine ended, or why it was refused
	FleetCallIntent        Action = "fleet.call.intent"        // a call is about to be sent to a machine
	FleetCallQueued        Action = "fleet.call.queued"        // a call waits for a machine that is away
	FleetEnrolled          Action = "fleet.enrolled"           // a machine enrolled
	FleetForeignFrame      Action = "fleet.foreign_frame"      // a machine spoke in the name of another
	FleetLegacyMinted      Action = "fleet.legacy.minted"      // an old-style enrolment token was made
	FleetLinkCreated       Action = "fleet.link.created"       // an enrolment link was made
	FleetLinkOpened        Action = "fleet.link.opened"        // an enrolment link was opened
	FleetMachineCreated    Action = "fleet.machine.created"    // a machine was added
	FleetMachineEdited     Action = "fleet.machine.edited"     // a machine's name, tags or notes were changed
	FleetMachineRemoved    Action = "fleet.machine.removed"    // a machine was removed
	FleetRekey             Action = "fleet.rekey"              // a machine enrolled again with a new key
	FleetRekeyed           Action = "fleet.rekeyed"            // a machine connected with its new key
	FleetRolloutCancelled  Action = "fleet.rollout.cancelled"  // a roll-out was cancelled
	FleetRolloutDone       Action = "fleet.rollout.done"       // a roll-out is done
	FleetRolloutPaused     Action = "fleet.rollout.paused"     // a roll-out was paused
	FleetRolloutRunning    Action = "fleet.rollout.running"    // a roll-out goes on
	FleetRolloutStarted    Action = "fleet.rollout.started"    // a roll-out was started
	FleetRolloutStopped    Action = "fleet.rollout.stopped"    // a roll-out stopped by itself
	FleetRuleAdded         Action = "fleet.rule.added"         // a rule for machines was added
	FleetRuleRemoved       Action = "fleet.rule.removed"       // a rule for machines was removed
	FleetScreenshotRemoved Action = "fleet.screenshot.removed" // a screenshot was removed
	FleetTokenMinted       Action = "fleet.token.minted"       // an enrolment token was made
)

// Tools over MCP.
const (
	MCPCall Action = "mcp.call" // a tool was used over MCP, or refused
)

// The meeting place and other places.
const (
	NegotiationAgreed  Action = "negotiation.agreed"   // a negotiation was agreed
	PlaceAuditDigest   Action = "place.audit_digest"   // an hour of the place's own record was sealed
	PlaceTwoHistories  Action = "place.two_histories"  // a place showed two histories of its keys
	PlaceKeyChanged    Action = "place.key_changed"    // an agent's key changed
	PlaceKeyRegistered Action = "place.key_registered" // an agent's key was registered
	PlacePeerAdded     Action = "place.peer_added"     // another place was added
	PlacePeerRefused   Action = "place.peer_refused"   // another place was refused
	PlacePeerRemoved   Action = "place.peer_removed"   // another place was removed
	PlacePinReleased   Action = "place.pin_released"   // an agent's pinned key was released
	PlaceRefused       Action = "place.refused"        // an agent was refused at the place
	PlaceSaltRenewed   Action = "place.salt_renewed"   // hidden ids in the place's record were renewed
	PlaceTokensRevoked Action = "place.tokens_revoked" // an agent's sessions were ended
	PlaceTrusted       Action = "place.trusted"        // an agent's key was trusted
	PlaceUntrusted     Action = "place.untrusted"      // an agent's key is no longer trusted
	VisitBegan         Action = "visit.began"          // a visit to another place began
	VisitEnded         Action = "visit.ended"          // a visit to another place ended
	VisitPlaceAccepted Action = "visit.place_accepted" // another place's new key was accepted
	VisitPlaceChanged  Action = "visit.place_changed"  // another place answered with another key
	VisitWarned        Action = "visit.warned"         // a visit to another place is about to end
)

// Rooms.
const (
	RoomActed     Action = "room.acted"     // an act was asked of a room's app
	RoomAdmitted  Action = "room.admitted"  // somebody was admitted to a room
	RoomBanned    Action = "room.banned"    // somebody was barred from a room
	RoomBlocked   Action = "room.blocked"   // a participant tried what it may not, or broke the rules
	RoomClosed    Action = "room.closed"    // a room was closed
	RoomCredit    Action = "room.credit"    // a credit was accepted or renewed
	RoomDisclosed Action = "room.disclosed" // a participant said that it is an agent, or an agent discloses something else
	RoomExpired   Action = "room.expired"   // rights in a room expired
	RoomGranted   Action = "room.granted"   // rights in a room were changed
	RoomHost      Action = "room.host"      // somebody became host of a room
	RoomInvited   Action = "room.invited"   // a pass to a room was made or withdrawn
	RoomJoined    Action = "room.joined"    // somebody joined a room
	RoomKicked    Action = "room.kicked"    // somebody was put out of a room
	RoomLeft      Action = "room.left"      // somebody left a room
	RoomLobby     Action = "room.lobby"     // the waiting room was switched, entered or decided about
	RoomLocked    Action = "room.locked"    // a room was locked
	RoomOpened    Action = "room.opened"    // a room was opened
	RoomOwner     Action = "room.owner"     // a room was given to another owner
	RoomPolicy    Action = "room.policy"    // a room's policy was changed
	RoomPublisher Action = "room.publisher" // a publisher was appointed or dismissed
	RoomReaped    Action = "room.reaped"    // somebody was put out because the credit lapsed
	RoomRefused   Action = "room.refused"   // somebody was refused at a room's door
	RoomReset     Action = "room.reset"     // a room was reset
	RoomSchema    Action = "room.schema"    // a schema was published in a room
	RoomShared    Action = "room.shared"    // the hub can read a sealed room: an agent of it was given the key
	RoomTool      Action = "room.tool"      // a tool was used by an agent of this hub that sits in a room
	RoomUnbanned  Action = "room.unbanned"  // somebody may come back into a room
	RoomUnlocked  Action = "room.unlocked"  // a room was unlocked
	RoomWithheld  Action = "room.withheld"  // messages were withheld from a participant
)

// Skills.
const (
	SkillApproved    Action = "skill.approved"    // a skill was approved
	SkillPublished   Action = "skill.published"   // a skill was published, or no longer
	SkillQuarantined Action = "skill.quarantined" // a skill was received and is not in use
	SkillRejected    Action = "skill.rejected"    // a skill was rejected
	SkillRevoked     Action = "skill.revoked"     // a skill was taken out of use
)

// Conversations.
const (
	TalkCompacted      Action = "talk.compacted"       // a conversation was summarised
	TalkDeleted        Action = "talk.deleted"         // a conversation was deleted
	TalkExported       Action = "talk.exported"        // a conversation was exported
	TalkImported       Action = "talk.imported"        // a conversation was imported
	TalkKilled         Action = "talk.killed"          // an agent's answer was stopped
	TalkRecalledShared Action = "talk.recalled_shared" // an agent recalled memory that somebody shares
	TalkResummarised   Action = "talk.resummarised"    // an archive was summarised again
	TalkRun            Action = "talk.run"             // how an agent's answer ended
	TalkScheduled      Action = "talk.scheduled"       // a schedule was added
	TalkShared         Action = "talk.shared"          // memory is shared with an agent
	TalkTool           Action = "talk.tool"            // a tool was used in a conversation
	TalkUnscheduled    Action = "talk.unscheduled"     // a schedule was removed
	TalkUnshared       Action = "talk.unshared"        // memory is no longer shared
)

// Tasks.
const (
	TaskEnded     Action = "task.ended"     // how a task ended
	TaskMessage   Action = "task.message"   // a message was given to a task, or refused because its token was revoked
	TaskSubmitted Action = "task.submitted" // a task was submitted
	TaskTool      Action = "task.tool"      // a tool was used in a task
)

// Terminals.
const (
	TerminalAttached Action = "terminal.attached" // somebody began to watch a terminal
	TerminalClosed   Action = "terminal.closed"   // a terminal was closed
	TerminalCreated  Action = "terminal.created"  // a terminal was opened, or could not be
	TerminalExited   Action = "terminal.exited"   // a terminal's program ended
	TerminalInput    Action = "terminal.input"    // somebody typed into a terminal for the first time in a session
)
