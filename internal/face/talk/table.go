package talk

import (
	wire "parley.internal/protocol/agentfirst"
)

// firstAddition is where the requests begin that only extended clients may make.
const firstAddition = 200

// handler is how one kind of request is answered. Exactly one of now, begin and
// work is set.
type handler struct {
	// now answers at once, in arrival order.
	now func(*request) (*wire.ServerMessage, error)
	// begin starts something that goes on by itself, or takes a part of a request.
	begin func(*request) error
	// work takes its time and counts as in progress.
	work func(*request) error
	// serial work without a request id waits for the one before.
	serial bool
	// open requests need no login; those that manage what the hub runs (agents,
	// models, tool servers) need agents:manage.
	open, manage bool
}

// handlers is everything a client can ask, by the number of its variant.
var handlers = map[int]handler{
	1:  {work: (*request).sendTurn, serial: true},
	2:  {work: (*request).streamTurn, serial: true},
	3:  {now: (*request).replyToAsk},
	4:  {now: (*request).listActive},
	5:  {now: (*request).kill},
	6:  {work: (*request).compact, serial: true},
	7:  {now: (*request).listConversations},
	8:  {now: (*request).listProviders},
	9:  {now: (*request).setProvider, manage: true},
	10: {now: (*request).deleteProvider, manage: true},
	11: {now: (*request).setActiveModel, manage: true},
	12: {now: (*request).listPresets},
	13: {now: (*request).listMCPs},
	14: {now: (*request).setMCPs, manage: true},
	15: {now: (*request).listAgents},
	16: {now: (*request).getAgent},
	17: {now: (*request).createAgent, manage: true},
	18: {now: (*request).updateAgent, manage: true},
	19: {now: (*request).deleteAgent, manage: true},
	20: {now: (*request).noPackages},
	21: {now: (*request).noPackages},
	22: {now: (*request).listPackages},
	23: {now: (*request).listSkills},
	24: {now: (*request).noService},
	25: {now: (*request).noService},
	26: {now: (*request).noService},
	27: {now: (*request).createCron},
	28: {now: (*request).deleteCron},
	29: {now: (*request).listCrons},
	30: {now: (*request).ping, open: true},
	31: {now: (*request).noConfig},
	32: {now: (*request).reload},
	33: {now: (*request).stats},
	34: {begin: (*request).subscribe},
	35: {now: (*request).setEnabled, manage: true},
	36: {now: (*request).listModels},
	37: {now: (*request).searchHub},
	38: {now: (*request).history},
	39: {now: (*request).deleteConversation},

	200: {now: (*request).hello, open: true},
	201: {now: (*request).cancelRun},
	202: {begin: (*request).attach},
	203: {now: (*request).detach},
	204: {now: (*request).listArchives},
	205: {now: (*request).getArchive},
	206: {now: (*request).search},
	207: {work: (*request).export},
	208: {begin: (*request).importPiece},
	209: {now: (*request).setTitle},
}

// pong says "done" where there is nothing else to say.
func pong(err error) (*wire.ServerMessage, error) {
	return &wire.ServerMessage{Message: &wire.ServerMessage_Pong{Pong: &wire.Pong{}}}, err
}
