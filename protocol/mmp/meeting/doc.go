// Package meeting is what two agents say to each other, whichever way it travels:
// messages and their payloads, introductions, and the rules of an exchange.
//
// [Message] and [ReadRelayed] are the message layer; [Provenance], [CheckSkill] and
// [CheckExtension] judge what arrives; [Discussion] and [Negotiation] are reducers:
// apply a move to a state, get the next state or an error, and the old state is
// unchanged.
package meeting
