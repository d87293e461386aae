package judge

import "parley.internal/internal/identity"

// Class is what a call does, as far as consent is concerned.
type Class uint8

// The classes. Unknown ones count as Leaves.
const (
	Leaves  Class = iota // changes something outside, or nobody knows what
	Reads                // looks, and tells nobody
	Fetches              // looks at a host that this run has not asked before: an address can tell it something
	Notes                // keeps or drops a note about whoever it speaks with, for nobody else to see
	Writes               // changes something of the agent's own: its folder
	Serves               // changes something at a tool server
	Runs                 // runs a program
	Shows                // shows private things of a machine
	Changes              // changes a machine
	Speaks               // tells others something in the person's name
	Spends               // spends more than the budget that was given
)

// column is who comes, and from where.
type column uint8

const (
	hub      column = iota // the hub, carrying out what somebody started
	person                 // a person in person, on a page that asks before it calls
	program                // a token: script, command line, MCP client, a page such a token opened
	talk                   // an agent in a conversation with one of the hub's people; a schedule too
	stranger               // an agent that somebody else speaks to, or in a room
	task                   // an agent with a task
	columns
)

// answer is a cell of the table.
type answer uint8

const (
	asks         answer = iota
	yes                 // runs
	never               // is refused
	untilTainted        // runs until words of strangers were read, then asks
	unlessSpared        // asks, unless the agent's file spares it (auto_approve)
	unlessListed        // runs if it is a harmless command in the box; else unlessSpared
	oncePerRun          // asks the first time in a run
	unlessNamed         // asks, unless fleet:unattended was given by name
	always              // asks, also in a task that need not ask
)

// table is the whole policy; TestTheWholeTable shows it, and docs/security.md tells it
// to people. The columns: hub, person, program, talk, stranger, task.
var table = map[Class][columns]answer{
	Reads:   {yes, yes, yes, yes, yes, yes},
	Fetches: {yes, yes, yes, untilTainted, untilTainted, untilTainted},
	Notes:   {yes, yes, yes, yes, yes, yes},
	Writes:  {yes, yes, yes, yes, asks, yes},
	Serves:  {yes, yes, yes, untilTainted, asks, unlessSpared},
	Leaves:  {yes, yes, asks, unlessSpared, never, unlessSpared},
	Runs:    {yes, yes, asks, unlessSpared, never, unlessListed},
	Shows:   {yes, yes, yes, oncePerRun, oncePerRun, oncePerRun},
	Changes: {yes, yes, unlessNamed, unlessNamed, unlessNamed, unlessNamed},
	Speaks:  {yes, yes, yes, unlessSpared, never, unlessSpared},
	Spends:  {yes, yes, always, never, never, always},
}

// columnOf finds whoever acts. An agent is never in person, whoever it acts for.
func columnOf(who identity.Actor, s Setting) column {
	switch s.Where {
	case identity.AtHub:
		return hub
	case identity.InTask:
		return task
	case identity.InRoom:
		return stranger // whoever is in the room is heard
	case identity.InConversation, identity.BySchedule:
		if s.Stranger {
			return stranger
		}
		return talk
	}
	if who.InPerson && who.Agent == "" {
		return person
	}
	return program
}
