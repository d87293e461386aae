package identity

import "slices"

// The scopes a request can need. Together with the parametrised ones
// (talk:sender:PREFIX*, machine:ID, tag:NAME) they are the whole vocabulary.
const (
	TaskRead        = "task:read"
	TaskSubmit      = "task:submit"
	TaskControl     = "task:control"
	TaskUnattended  = "task:unattended"
	ApprovalRead    = "approval:read"
	ApprovalRespond = "approval:respond"
	TerminalRead    = "terminal:read"
	TerminalWrite   = "terminal:write"
	TerminalCreate  = "terminal:create"
	StatusRead      = "status:read"
	DeviceManage    = "device:manage"
	FleetRead       = "fleet:read"
	FleetSensitive  = "fleet:sensitive"
	FleetCall       = "fleet:call"
	FleetAdmin      = "fleet:admin"
	FleetUnattended = "fleet:unattended"
	Rooms           = "rooms"
	Place           = "place"
	PlaceManage     = "place:manage"
	Talk            = "talk"
	TalkAdmin       = "talk:admin"
	AgentsManage    = "agents:manage"
	AuditRead       = "audit:read"
	AuditWitness    = "audit:witness"
	Admin           = "admin"
	NodeRegister    = "node:register"
)

// Prefixes of the parametrised scopes. A talk:sender scope allows; the other
// two limit: a grant that holds any of them reaches only those machines.
const (
	senderPrefix  = "talk:sender:"
	machinePrefix = "machine:"
	tagPrefix     = "tag:"
)

// families lists what a family name stands for. "No asking" is never in a
// family: task:unattended and fleet:unattended are given by name.
var families = map[string][]string{
	"task":     {TaskRead, TaskSubmit, TaskControl},
	"approval": {ApprovalRead, ApprovalRespond},
	"terminal": {TerminalRead, TerminalWrite, TerminalCreate},
	"status":   {StatusRead},
	"device":   {DeviceManage},
	"fleet":    {FleetRead, FleetSensitive, FleetCall, FleetAdmin},
	"room":     {Rooms},
	"place":    {Place},
	"agent":    {AgentsManage},
	"audit":    {AuditRead},
	"node":     {NodeRegister},
}

// aliases are the names that stand for others besides families.
var aliases = map[string][]string{
	"talks":              {Talk},
	"talk:*":             {Talk, TalkAdmin},
	"operator.read":      {TaskRead, ApprovalRead, TerminalRead, StatusRead, FleetRead, AuditRead},
	"operator.write":     {TaskSubmit, TaskControl, TerminalWrite},
	"operator.approvals": {ApprovalRespond},
	"operator.pairing":   {DeviceManage},
	"operator.admin":     {Admin},
}

// implied lists what comes along with a scope.
var implied = map[string][]string{
	ApprovalRespond: {ApprovalRead},
	TerminalWrite:   {TerminalRead},
	TerminalCreate:  {TerminalWrite, TerminalRead},
	TalkAdmin:       {Talk},
	PlaceManage:     {Place},
	Admin:           everythingForAdmin(),
}

// everyday is what "*" stands for: work with one's own things. Whoever reaches
// other people's things, changes what the hub itself runs or opens a shell on it
// is given that by name, or by the name of its family.
var everyday = []string{
	TaskRead, TaskSubmit, TaskControl, ApprovalRead, ApprovalRespond, TerminalRead, TerminalWrite, StatusRead, DeviceManage,
	FleetRead, FleetSensitive, FleetCall, Rooms, Place, Talk, AuditRead, NodeRegister,
}

// byName is what "*" leaves out.
var byName = []string{Admin, TalkAdmin, AgentsManage, PlaceManage, FleetAdmin, TerminalCreate, TaskUnattended, FleetUnattended, AuditWitness}

// everythingForAdmin leaves out fleet:unattended (machines of other people must
// not be changed unasked just because somebody administers the hub) and
// node:register, which belongs to the other role.
func everythingForAdmin() []string {
	return slices.DeleteFunc(slices.Concat(everyday, byName), func(name string) bool {
		return name == Admin || name == FleetUnattended || name == NodeRegister
	})
}

// known are the plain scopes; every other name is parametrised or unknown.
var known = knownScopes()

func knownScopes() map[string]bool {
	set := map[string]bool{}
	for _, name := range slices.Concat(everyday, byName) {
		set[name] = true
	}
	return set
}
