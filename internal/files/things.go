package files

import "parley.internal/internal/identity"

// Thing is what a file is held for.
type Thing string

// upload is a file that was put and not used yet.
const upload Thing = "upload"

// Conversation holds files that were said in it.
func Conversation(id string) Thing { return Thing("talk:" + id) }

// Task holds files that were handed over with it.
func Task(id string) Thing { return Thing("task:" + id) }

// Room holds files that were shown in it.
func Room(id string) Thing { return Thing("room:" + id) }

// drawer is whose files an actor reaches: the person's. A token that speaks only for certain
// senders, such as a gateway's, has a drawer of its own: what the person says elsewhere is none
// of its business.
func drawer(who identity.Actor) string {
	if who.Person.ID == "" {
		return ""
	}
	if who.Scopes.Has(identity.Talk) || who.Scopes.Has(identity.TalkAdmin) || who.Scopes.Has(identity.TaskSubmit) {
		return who.Person.ID
	}
	return who.Person.ID + "#" + who.TokenID
}
