package identity

import "time"

// What is told of an actor here says how it came and takes nothing but away: no scope,
// person or time is added. Other packages say it by these, and change no field.

// From is the actor as it called from an address.
func (a Actor) From(address string) Actor {
	a.Address = address
	return a
}

// On is the actor on one of the connections of its credential.
func (a Actor) On(connection string) Actor {
	a.Connection = connection
	return a
}

// OverMCP is the actor behind an MCP client, which names itself as it likes. A model sits
// there, and nobody in person.
func (a Actor) OverMCP(client string) Actor {
	a.Where, a.InPerson, a.Client = AtMCP, false, client
	return a
}

// Until is the actor with an end no later than a time.
func (a Actor) Until(end time.Time) Actor {
	a.Expires = earlier(a.Expires, end)
	return a
}

// InSession is the actor with what it asks for of its scopes, in a role. device is what
// the program calls itself where the credential is of no device.
func (a Actor) InSession(requested []string, role Role, device string) Actor {
	a.Scopes = Grant(requested, a.Scopes, role)
	if a.Device == "" {
		a.Device = device
	}
	return a
}

// NoteFor is the hub handing an agent what another one wrote to it: to speak there, and
// nothing besides.
func NoteFor(agent string) Actor {
	a := Hub().Narrow(Expand(TalkAdmin))
	a.Agent = agent
	return a
}
