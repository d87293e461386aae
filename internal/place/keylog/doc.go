// Package keylog keeps a meeting place's key log: every binding of an id to a key, in
// the order they were made, as the leaves of a Merkle tree (RFC 6962).
//
//	err := keylog.Append(tx, mmp.Binding{AgentID: "ada", KeyID: …}, pem)   // with the key itself
//	head, err := keylog.Head(tx, placeKey)                                 // signed
//	in, err := keylog.Prove(tx, placeKey, "ada", keyID)                    // ada's key is in that head
//	proof, err := keylog.Consistency(tx, from, to)                         // the longer continues the shorter
//
// Whoever compares heads that different readers got can tell whether a place shows two
// histories, and no place can take a binding back. Heads of other places that visitors
// and peers hand over are kept here for that comparison.
package keylog
