// Package tool defines what an agent can do besides talking: a [Tool] with a
// schema and a class, and the [Set] a run is given.
//
// The class decides who is asked: read-only tools run, mutating ones run when
// the agent's file lists them, sensitive ones need a person's approval. A
// result may be marked untrusted; such text is wrapped as data before a model
// sees it, and from then on nothing in that turn is approved automatically.
package tool
