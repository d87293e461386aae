// Package growth holds the law of no growth as a property of a whole hub: whatever
// random people do by whatever way there is, nobody, and nothing they made, can do or
// read what they could not before, unless somebody who could said yes to exactly that.
//
// A sequence has its own people, who make tokens, pages, devices and passkeys, hold
// conversations, hand over tasks, call machines, answer questions and end what they
// made. Beside it goes a model (model_test.go) of who may do what, written from the
// law and not from the code. After each step credentials try what they should not be
// able to (probes_test.go); what the hub let them do must be in the model.
//
//	go test ./test/growth                     some dozens of sequences
//	go test ./test/growth -growth.for 10m     as many as fit
//	go test ./test/growth -rapid.seed N       the same ones again
package growth
