package identity

// agentReach is the most that a hosted agent ever holds, whoever it acts for: what
// its tools act by. Everything else it does inside its own folder and conversation.
var agentReach = Expand(FleetRead, FleetSensitive, FleetCall, FleetUnattended, PlaceManage)

// Narrow is the actor with at most some scopes.
func (a Actor) Narrow(most Scopes) Actor {
	a.Scopes = a.Scopes.Intersect(most)
	return a
}

// ForAgent is a hosted agent that acts for the actor: in a task, a conversation, a
// room, or one that began by schedule. It has what both have, ends when the actor
// ends, and is nobody in person.
func (a Actor) ForAgent(agent string, where Where, run string) Actor {
	a.Agent, a.Where, a.Run, a.InPerson = agent, where, run, false
	return a.Narrow(agentReach)
}

// Scheduled is the actor as a schedule of theirs acts, when nobody is there.
func (a Actor) Scheduled(id string) Actor {
	a.Where, a.Run, a.InPerson = BySchedule, id, false
	return a
}

// Joined is the actor after words of another one joined its run: what both may do,
// until the first of them ends.
func (a Actor) Joined(other Actor) Actor {
	a.Expires = earlier(a.Expires, other.Expires)
	a.InPerson = a.InPerson && other.InPerson
	return a.Narrow(other.Scopes)
}

// Within reports whether another may do everything that this one may.
func (a Actor) Within(other Actor) bool { return other.Scopes.Covers(a.Scopes) }

// CarriedOut is the hub doing what the actor started and was judged for: a roll-out,
// which goes on when its page is closed and ends with the token it came by.
func (a Actor) CarriedOut() Actor {
	a.Where, a.PageID, a.InPerson = AtHub, "", false
	return a
}
