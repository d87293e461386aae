// Package placetest is a small meeting place of today's generation, for tests: agents
// register with a signed identity and get a token, skills are deposited and fetched, the
// relay queues what is sealed. It has what such places lack, too: no challenge, no
// heartbeat, no directory that takes keys, limits told in words.
//
//	today := placetest.Today(t)
//	agent, err := mmpagent.Open(today.URL, …)
//	today.Agents()                    // whom it has let in and not seen leaving
package placetest
