// Package offline is the model that needs nothing: no key, no network, no
// randomness. The same request gives the same stream, always, at no cost.
//
// It reads its lines from the person's own words. A message of directives is a
// script; anything else gets a short answer that says how to configure a model.
//
//	/say Looking around.
//	/tool file_list {"path":"."}
//	/and file_read {"path":"README.md"}
//	/say That is all.
//
// The first model call says "Looking around." and makes both calls of the batch;
// the next one, sent with their results, goes on after the batch. Where to go on
// is counted from the request alone, so the model keeps no state, survives a
// restart and can be asked twice.
//
// Reading a script ([parse]) is pure; playing it ([player]) streams, waits and is
// cancelled like a real provider. In a conversation the last message of the
// person is the script; in a task it is everything said since the last finished
// answer.
package offline
